"""A snapshot's digest stands for everything that a verdict is bound to."""

import json
from typing import Any

import pytest

from policies import canonical
from policies.intent import intent_digest
from policies.snapshot import ApprovalSnapshot, EvidenceRef
from tests.unit.values import EVIDENCE, INTENT, PAYLOAD, snapshot

OTHERS: dict[str, Any] = {
    "canonicalisation": "another",
    "tool": "another",
    "payload": PAYLOAD.model_copy(update={"version": 3}),
    "validation_hash": "another",
    "intent": INTENT.model_copy(update={"tenant": "another"}),
    "intent_digest": "another",
    "evidence": EVIDENCE[::-1],
    "scope": "another",
    "key": "another",
    "term_seconds": 3601,
}


def test_the_digest_of_a_snapshot_is_the_same_in_every_run() -> None:
    """A3: what was shown a year ago still has the digest that was approved."""
    assert snapshot().digest == (
        "sha256:1248d510bf858c5e6b9e60195456786b13301e45086a92e22d69b4d879658e14"
    )


def test_a_snapshot_binds_the_intent_and_the_rules_of_its_bytes() -> None:
    taken = snapshot()
    assert taken.intent_digest == intent_digest(PAYLOAD, INTENT)
    assert taken.canonicalisation == canonical.CANONICALISATION


@pytest.mark.parametrize("name", list(ApprovalSnapshot.model_fields))
def test_every_field_changes_the_digest(name: str) -> None:
    """A3: tool, version, hash, validation, intent, evidence, key and term."""
    parts = dict(snapshot()) | {name: OTHERS[name]}
    assert ApprovalSnapshot(**parts).digest != snapshot().digest


@pytest.mark.parametrize("name", list(EvidenceRef.model_fields))
def test_every_part_of_the_evidence_changes_the_digest(name: str) -> None:
    """A6: another version of what was seen is other evidence."""
    value = 9 if name == "version" else "another"
    changed = EVIDENCE[0].model_copy(update={name: value})
    assert snapshot(evidence=(changed, EVIDENCE[1])).digest != snapshot().digest


def test_a_changed_copy_has_its_own_digest_even_if_the_first_was_read() -> None:
    taken = snapshot()
    before = taken.digest
    assert taken.model_copy(update={"key": "op-2"}).digest != before
    assert taken.model_copy().digest == before


def test_a_snapshot_that_was_stored_and_read_has_the_same_digest() -> None:
    taken = snapshot()
    stored = json.loads(json.dumps(taken.model_dump(mode="json")))
    assert ApprovalSnapshot.model_validate(stored).digest == taken.digest


def test_a_snapshot_with_a_field_it_does_not_know_is_refused() -> None:
    stored = snapshot().model_dump(mode="json") | {"approved": True}
    with pytest.raises(ValueError, match="approved"):
        ApprovalSnapshot.model_validate(stored)
