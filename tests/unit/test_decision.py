"""Decisions are data: seven kinds, each with its reasons, read back as they were."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from policies.decision import (
    Ask,
    Block,
    CallTool,
    Complete,
    Decision,
    Fail,
    RequestApproval,
    Wait,
    choice_name,
)
from policies.interaction import Interaction
from tests.unit.values import NOW, texts, unhurried

WHY = ("because",)
ADAPTER: TypeAdapter[Decision] = TypeAdapter(Decision)
QUESTION = Interaction(id="q", type="INPUT", target="t", question="?")
EACH: tuple[Decision, ...] = (
    CallTool(tool="collect_context", reasons=WHY),
    CallTool(tool="execute_action", item="it-1", reasons=WHY),
    Ask(questions=(QUESTION,), reasons=WHY),
    RequestApproval(questions=(QUESTION,), reasons=WHY),
    Wait(until=NOW, reasons=WHY),
    Complete(outcome="rejected", reasons=WHY),
    Fail(outcome="unknown", reasons=WHY),
    Block(reasons=WHY),
)


def test_there_are_seven_kinds_and_an_example_of_each() -> None:
    """L2: tool call, question, approval request, wait, complete, fail, block."""
    kinds = {decision.kind for decision in EACH}
    assert len(kinds) == len(get_args(get_args(Decision)[0])) == 7


@pytest.mark.parametrize("decision", EACH, ids=choice_name)
def test_a_recorded_decision_is_read_back_as_it_was(decision: Decision) -> None:
    """L2: each is recorded with its reasons before it is performed."""
    stored = decision.model_dump(mode="json")
    assert ADAPTER.validate_python(stored) == decision
    assert ADAPTER.validate_json(decision.model_dump_json()) == decision


@pytest.mark.parametrize("decision", EACH, ids=choice_name)
def test_no_decision_goes_without_reasons(decision: Decision) -> None:
    """L2: a decision is data with a reason."""
    stored = decision.model_dump(mode="json")
    del stored["reasons"]
    with pytest.raises(ValidationError, match="reasons"):
        ADAPTER.validate_python(stored)


@pytest.mark.parametrize(
    "stored",
    [
        {"kind": "execute", "reasons": []},
        {"kind": "complete", "outcome": "blocked", "reasons": []},
        {"kind": "fail", "outcome": "completed", "reasons": []},
        {"kind": "block", "outcome": "failed", "reasons": []},
        {"kind": "call_tool", "tool": "x", "arguments": {}, "reasons": []},
        {"kind": "request_approval", "approved": True, "reasons": []},
    ],
)
def test_a_decision_can_be_nothing_else(stored: dict[str, Any]) -> None:
    """A8, L5: a block is no failure; arguments and approvals are no part of one."""
    with pytest.raises(ValidationError):
        ADAPTER.validate_python(stored)


def test_the_names_to_choose_from_tell_the_decisions_apart() -> None:
    """L4: a workflow model picks one permitted decision by its name."""
    names = [choice_name(decision) for decision in EACH]
    assert names[:3] == ["collect_context", "execute_action it-1", "ask"]
    assert len(set(names)) == len(names)


@unhurried
@given(texts, st.none() | texts)
def test_a_tools_name_is_its_choice(tool: str, item: str | None) -> None:
    name = choice_name(CallTool(tool=tool, item=item, reasons=WHY))
    assert name == (tool if item is None else f"{tool} {item}")
