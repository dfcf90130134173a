"""A plan's actions and a review's verdicts: one each, bound to what was seen."""

from typing import Any

import pytest
from pydantic import ValidationError

from policies.plan import Action, AgentPlan, ItemVerdict, PlanReviewResult
from tests.unit.values import packet, packet_item


def action(name: str, **more: Any) -> dict[str, Any]:
    said = {"id": name, "tool": "mail.send", "subject": "c1", "rationale": "why"}
    return said | more


def verdict(item: str, **more: Any) -> dict[str, Any]:
    said = {"item": item, "verdict": "approve", "version": 1, "snapshot": "a1b2c3d4"}
    return said | more


def test_three_equal_actions_are_three_actions() -> None:
    """L10: a plan keeps each action and their order."""
    plan = AgentPlan.model_validate(
        {"summary": "s", "actions": [action("a1"), action("a2"), action("a3")]}
    )
    assert [a.id for a in plan.actions] == ["a1", "a2", "a3"]


def test_two_actions_of_a_plan_never_share_an_id() -> None:
    """A13 of the field failures: answers cannot collapse or swap."""
    twice = {"summary": "s", "actions": [action("a1"), action("a1", subject="c2")]}
    with pytest.raises(ValidationError, match="two actions have the same id"):
        AgentPlan.model_validate(twice)


@pytest.mark.parametrize("more", [{"arguments": {}}, {"approved": True}, {"key": "k"}])
def test_an_action_has_no_room_for_arguments_or_approvals(more: dict[str, Any]) -> None:
    """L5: the final input is assembled, never taken from what proposes the action."""
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Action.model_validate(action("a1", **more))


def test_a_review_says_one_thing_about_each_item() -> None:
    """L10: per-action approve or reject."""
    said = [verdict("i1"), verdict("i2", verdict="reject", reason="no")]
    result = PlanReviewResult.model_validate({"verdicts": said})
    assert [v.verdict for v in result.verdicts] == ["approve", "reject"]
    with pytest.raises(ValidationError, match="an item has two verdicts"):
        PlanReviewResult.model_validate({"verdicts": [verdict("i1"), verdict("i1")]})


def test_a_review_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        PlanReviewResult(verdicts=())


@pytest.mark.parametrize(
    "change",
    [
        {"snapshot": ""},
        {"snapshot": "a1b2c3d"},
        {"version": "latest"},
        {"verdict": "approved"},
        {"verdict": "execute"},
        {"payload": {"to": "mallory"}},
    ],
)
def test_a_verdict_is_bound_to_a_version_and_a_digest(change: dict[str, Any]) -> None:
    """A3, A21: it carries id, version and digest, and never a payload."""
    with pytest.raises(ValidationError):
        ItemVerdict.model_validate(verdict("i1", **change))


@pytest.mark.parametrize("name", ["version", "snapshot", "item", "verdict"])
def test_no_part_of_a_verdict_can_be_left_out(name: str) -> None:
    said = verdict("i1")
    del said[name]
    with pytest.raises(ValidationError, match=name):
        ItemVerdict.model_validate(said)


def test_a_packet_that_was_kept_is_read_back_as_it_was_shown() -> None:
    """A6: what was seen is rebuilt from the artifact alone."""
    shown = packet(packet_item())
    assert type(shown).model_validate_json(shown.model_dump_json()) == shown
