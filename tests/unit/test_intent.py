"""An intent's digest stands for the payload and every field of its meaning."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from policies.canonical import DigestKind, canonicalise, digest, payload_hash
from policies.intent import EffectiveIntent, PayloadRef, intent_digest
from tests.unit.values import INTENT, PAYLOAD, texts, unhurried


class Transfer(BaseModel):
    """A tool's input with a default."""

    id: str
    note: str = ""
    amount: int


def hashed(**arguments: Any) -> str:
    return payload_hash(canonicalise(Transfer.model_validate(arguments)))


def test_the_digest_of_an_intent_is_the_same_in_every_run() -> None:
    assert intent_digest(PAYLOAD, INTENT) == (
        "sha256:6203fb2aee90de55a30233b8c637a1c77887e6c71a2879e542019c1c06a325d4"
    )


@pytest.mark.parametrize("name", list(EffectiveIntent.model_fields))
def test_every_field_of_the_intent_changes_the_digest(name: str) -> None:
    """A2: another tenant or policy version is another intent, whatever the bytes."""
    value = 5 if name == "resource_version" else "another"
    changed = INTENT.model_copy(update={name: value})
    assert intent_digest(PAYLOAD, changed) != intent_digest(PAYLOAD, INTENT)


@pytest.mark.parametrize("name", list(PayloadRef.model_fields))
def test_ref_version_and_hash_of_the_payload_change_the_digest(name: str) -> None:
    value = 3 if name == "version" else "another"
    changed = PAYLOAD.model_copy(update={name: value})
    assert intent_digest(changed, INTENT) != intent_digest(PAYLOAD, INTENT)


def test_what_must_not_exist_yet_is_another_intent_than_its_first_version() -> None:
    digests = {
        intent_digest(PAYLOAD, INTENT.model_copy(update={"resource_version": version}))
        for version in (None, 0, 1)
    }
    assert len(digests) == 3


@unhurried
@given(
    st.builds(EffectiveIntent, resource_version=st.none() | st.integers(0, 3)),
    st.builds(EffectiveIntent, resource_version=st.none() | st.integers(0, 3)),
)
def test_two_intents_share_a_digest_only_if_they_are_equal(
    one: EffectiveIntent, other: EffectiveIntent
) -> None:
    same = intent_digest(PAYLOAD, one) == intent_digest(PAYLOAD, other)
    assert same == (one == other)


@unhurried
@given(st.tuples(texts, texts, texts), st.permutations(range(3)))
def test_no_field_of_an_intent_can_pass_for_another(
    said: tuple[str, str, str], order: list[int]
) -> None:
    moved = tuple(said[place] for place in order)
    one, other = (
        INTENT.model_copy(update={"tenant": t, "principal": p, "permission": q})
        for t, p, q in (said, moved)
    )
    same = intent_digest(PAYLOAD, one) == intent_digest(PAYLOAD, other)
    assert same == (said == moved)


def test_bytes_of_one_kind_never_have_the_digest_of_another() -> None:
    data = b'{"intent":{},"payload":{}}'
    kinds = get_args(DigestKind)
    assert len({digest(kind, data) for kind in kinds}) == len(kinds)


def test_a16_the_same_meaning_in_other_words_is_the_same_payload() -> None:
    """A16 of the field failures: bind, validate, fill defaults, normalise, hash."""
    plain = hashed(id="é", amount=7)
    assert plain == hashed(amount=7, id="é")
    assert plain == hashed(id="é", note="", amount=7)
    assert plain == hashed(id="e\u0301", amount="7")


def test_another_meaning_is_another_payload() -> None:
    digests = {hashed(id="7", amount=7), hashed(id="07", amount=7)}
    digests |= {hashed(id="7", amount=7, note=" "), hashed(id="7", amount=8)}
    assert len(digests) == 4


def test_a16_a_number_where_a_name_is_meant_is_refused() -> None:
    """A16: `{"id":7}` never silently stands for `{"id":"7"}`."""
    with pytest.raises(ValueError, match="id"):
        hashed(id=7, amount=7)
