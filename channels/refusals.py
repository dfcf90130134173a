"""What was not taken, in the words of whoever handed it in."""

from collections.abc import Iterator
from contextlib import contextmanager

from blocks.desk import NotTaken
from blocks.ledger.people import TokenProof
from policies.access import Denied
from policies.errors import Conflict, InvalidInput, NotFound, PlacetError, Refused

_CONFLICTS = frozenset(
    {"already_decided", "illegal_transition", "already_answered"}
    | {"idempotency_conflict", "request_closed"}
)
_INPUT = frozenset(
    {"reason_required", "invalid_reason", "invalid_edit", "invalid_answer"}
    | {"nothing_decided"}
)


def token_proof(token: str | None) -> TokenProof:
    """The proof of a bearer token, or `InvalidInput` where there is none."""
    if not token:
        raise InvalidInput(
            "No token was given.",
            code="token_missing",
            hint="Set PLACET_TOKEN to the token that `placet reviewers add` printed "
            "for you; `placet reviewers rotate` makes a new one.",
        )
    return TokenProof(token=token)


def turned_away(reviewer: str, denied: Denied) -> Refused:
    """Why a person could not prove who they are."""
    if denied.code == "wrong_proof":
        return _wrong_token(reviewer)
    return Refused(f"{denied.message}.", code=denied.code)


@contextmanager
def token_explained(reviewer: str) -> Iterator[None]:
    """A refused proof in the words of whoever set the token."""
    try:
        yield
    except Refused as error:
        if error.code != "wrong_proof":
            raise
        raise _wrong_token(reviewer) from error


def refused(outcome: NotTaken, reviewer: str) -> PlacetError:
    """A refused submission as the error that the contract names."""
    first = outcome.refusals[0]
    told = [refusal.model_dump(mode="json") for refusal in outcome.refusals]
    if first.code == "wrong_proof":
        return _wrong_token(reviewer, refusals=told)
    words = "; ".join(f"{r.item}: {r.message}" for r in outcome.refusals)
    sentence = f"{words.removesuffix('.')}."
    if first.code == "not_found":
        return NotFound(sentence)
    if first.code in _CONFLICTS:
        return Conflict(sentence, code=first.code, refusals=told)
    if first.code in _INPUT:
        return InvalidInput(sentence, code=first.code, refusals=told)
    return Refused(sentence, code=first.code, refusals=told)


def _wrong_token(reviewer: str, **facts: object) -> Refused:
    return Refused(
        f"The token in PLACET_TOKEN is not that of a reviewer {reviewer!r}.",
        code="wrong_proof",
        hint="Check --as and PLACET_TOKEN; `placet reviewers list` names everybody, "
        f"`placet reviewers rotate {reviewer}` gives a new token.",
        **facts,
    )
