"""What is permitted next: the loop's rules, on a small domain and on a real one."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from policies import lifecycle
from policies.adapter import Adapter
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
from policies.lifecycle import OPEN, State
from policies.plan import AgentPlan
from policies.state import STEPS, ItemView, RequestState, Step, View
from policies.steps import permitted
from policies.support_email.adapter import SupportEmail
from tests.unit.sessions import OPTIONAL, PLAN, TOPIC, Small, adapters, item, views
from tests.unit.values import unhurried, view

LATER = datetime(2030, 1, 1, tzinfo=UTC)

READY: tuple[Step, ...] = ("validate_request", "collect_context")
PLANNED: tuple[Step, ...] = (*READY, "prepare_agent_work")
REVIEWED: tuple[Step, ...] = (*PLANNED, "resolve_review")
CLAIMABLE = {State.GRAPH_RESUMED, State.EXECUTION_CLAIMED}


def seen(
    done: tuple[Step, ...] = REVIEWED, *items: ItemView, plan: AgentPlan | None = PLAN
) -> View:
    return view(RequestState(completed_steps=done, agent_plan=plan), items=items)


def first(done: tuple[Step, ...], *items: ItemView, **small: Any) -> Decision:
    """What rules alone would do."""
    return permitted(seen(done, *items), Small(**small))[0]


# Over random sessions


@unhurried
@given(views, adapters)
def test_there_is_always_something_to_do_and_it_has_a_reason_and_a_name(
    now: View, adapter: Adapter
) -> None:
    """L2, L4: never empty; each option has its reasons and a name of its own."""
    options = permitted(now, adapter)
    assert options
    assert all(option.reasons for option in options)
    assert len({choice_name(option) for option in options}) == len(options)


@unhurried
@given(views, adapters)
def test_an_effect_is_never_permitted_without_an_approved_item(
    now: View, adapter: Adapter
) -> None:
    """L3: unapproved effects never; held ones neither."""
    effects = [
        option
        for option in permitted(now, adapter)
        if isinstance(option, CallTool) and option.tool == "execute_action"
    ]
    executable = {i.item for i in now.items if i.state in CLAIMABLE and not i.held}
    assert {option.item for option in effects} <= executable
    assert all(option.item is not None for option in effects)


@unhurried
@given(views)
def test_after_a_failed_validation_only_the_revising_tool_is_permitted(
    now: View,
) -> None:
    """L3: and nothing is proposed from a draft that did not pass its checks."""
    proposal = now.state.proposal
    work = SupportEmail().permitted_work(now)
    assert len(work) <= 1
    if proposal and proposal["checked"] and proposal["problems"]:
        assert work in ((), ("revise_reply",))
        assert SupportEmail().propose(now) is None


@unhurried
@given(views)
def test_the_preparing_step_is_permitted_only_with_something_to_prepare(
    now: View,
) -> None:
    """S4: or the loop would turn for ever without getting on."""
    adapter = SupportEmail()
    names = [choice_name(option) for option in permitted(now, adapter)]
    if "prepare_agent_work" in names:
        assert adapter.permitted_work(now) or adapter.propose(now)


@unhurried
@given(views, adapters)
def test_a_request_never_ends_while_an_item_can_still_be_decided_or_executed(
    now: View, adapter: Adapter
) -> None:
    """S4, L9: whatever is open, approved, executable, lost or due again goes on."""
    done = now.state.model_copy(update={"completed_steps": REVIEWED})
    options = permitted(now.model_copy(update={"state": done}), adapter)
    goes_on = set(State) - lifecycle.FINAL - {State.EXECUTION_UNKNOWN}
    if any(i.state in goes_on for i in now.items):
        assert not any(isinstance(option, Complete | Fail) for option in options)


@unhurried
@given(views, adapters)
def test_nobody_is_asked_to_approve_before_the_review_was_resolved(
    now: View, adapter: Adapter
) -> None:
    """L9: a draft is prepared and checked before anybody judges it."""
    if "resolve_review" not in now.state.completed_steps and now.items == ():
        options = permitted(now, adapter)
        assert not any(isinstance(option, RequestApproval) for option in options)


# The order of the steps


def test_the_steps_follow_each_other() -> None:
    """L9: validate → collect → prepare → resolve → execute → close."""
    done: tuple[Step, ...] = ()
    for step in STEPS[:4]:
        decision = first(done)
        assert isinstance(decision, CallTool)
        assert decision.tool == step
        done = (*done, step)
    executable = first(done, item(State.GRAPH_RESUMED))
    assert isinstance(executable, CallTool)
    assert (executable.tool, executable.item) == ("execute_action", "it-1")
    assert isinstance(first(done, item(State.EXECUTED)), Complete)


def test_a_blocker_stops_a_request_before_anything_is_asked_or_drafted() -> None:
    """A8: blocked by policy is not failed."""
    decision = first(READY, stops=("nobody to write to",), asks=(TOPIC,))
    assert decision == Block(reasons=("nobody to write to",))


def test_a_required_question_lets_nothing_else_be_done() -> None:
    """I2: a required question never goes on without an answer."""
    options = permitted(seen(READY), Small(asks=(OPTIONAL, TOPIC)))
    assert options == (Ask(questions=(OPTIONAL, TOPIC), reasons=("?", "What about?")),)


def test_an_optional_question_may_be_put_or_left() -> None:
    """I2, L4: rules alone ask; a workflow model may go on."""
    ask, prepare = permitted(seen(READY), Small(asks=(OPTIONAL,)))
    assert isinstance(ask, Ask)
    assert isinstance(prepare, CallTool)
    assert prepare.tool == "prepare_agent_work"


def test_an_optional_question_is_put_where_nothing_else_can_be_done() -> None:
    """S4: the loop does not turn on a step that has nothing to prepare."""
    options = permitted(seen(READY), Small(asks=(OPTIONAL,), proposes=None))
    assert options == (Ask(questions=(OPTIONAL,), reasons=("?",)),)


def test_a_plan_without_actions_ends_the_request() -> None:
    """L9: with nothing to execute it is closed."""
    nothing = AgentPlan(summary="s", actions=())
    decision = permitted(seen(PLANNED, plan=nothing), Small())[0]
    assert decision == Complete(
        outcome="completed", reasons=("no action was proposed",)
    )


# Items


@pytest.mark.parametrize("state", sorted(OPEN | {State.APPROVED, State.RESUME_CLAIMED}))
def test_what_waits_for_a_verdict_or_a_resume_is_waited_for(state: State) -> None:
    """L10: and what is approved already is not executed before the round is over."""
    decision = first(REVIEWED, item(State.GRAPH_RESUMED), item(state, name="it-2"))
    assert isinstance(decision, RequestApproval)


def test_the_domains_remarks_stand_in_the_form_of_the_verdicts() -> None:
    waiting = item(State.WAITING_FOR_REVIEW)
    decision = first(REVIEWED, waiting, remarked=(OPTIONAL,))
    assert isinstance(decision, RequestApproval)
    assert decision.questions == (OPTIONAL,)


def test_approved_actions_are_executed_one_by_one_in_plan_order() -> None:
    """L10: three actions, one rejected: two effects."""
    items = [item(State.GRAPH_RESUMED, name=f"it-{n}") for n in (1, 2, 3)]
    items[1] = item(State.REJECTED, name="it-2")
    executed = []
    while isinstance(decision := first(REVIEWED, *items), CallTool):
        executed.append(decision.item)
        items = [
            item(State.EXECUTED, name=i.item) if i.item == decision.item else i
            for i in items
        ]
    assert executed == ["it-1", "it-3"]
    assert isinstance(decision, Complete)
    assert decision.outcome == "completed"


def test_what_must_be_approved_again_is_asked_again_before_all_else() -> None:
    decision = first(
        REVIEWED,
        item(State.GRAPH_RESUMED),
        item(State.REAPPROVAL_REQUIRED, ("policy_version_changed",), "it-2"),
    )
    assert isinstance(decision, CallTool)
    assert decision.tool == "resolve_review"


@pytest.mark.parametrize("state", [State.APPROVED, *sorted(CLAIMABLE)])
def test_a_frozen_item_waits_and_the_others_go_on(state: State) -> None:
    """X9: a freeze stops an effect; the item stays in its state."""
    frozen = item(state, ("frozen",))
    assert first(REVIEWED, frozen) == Wait(reasons=("item it-1: frozen",))
    other = first(REVIEWED, frozen, item(State.GRAPH_RESUMED, name="it-2"))
    assert isinstance(other, CallTool)
    assert other.item == "it-2"


@pytest.mark.parametrize("code", ["approval_spent", "key_conflict", "key_expired"])
def test_what_no_time_mends_is_blocked_and_not_waited_for(code: str) -> None:
    """S4: nothing waits for ever."""
    decision = first(REVIEWED, item(State.GRAPH_RESUMED, ("frozen", code)))
    assert decision == Block(reasons=(f"item it-1: frozen, {code}",))


def test_an_item_that_was_held_and_then_withdrawn_is_asked_again() -> None:
    """S4: an old hold must not keep an open item from its reviewers."""
    decision = first(REVIEWED, item(State.WAITING_FOR_REVIEW, ("frozen",)))
    assert isinstance(decision, RequestApproval)


def test_an_unknown_resume_is_waited_for_and_never_called_rejected() -> None:
    """X7"""
    unknown = item(State.RESUME_UNKNOWN)
    decision = first(REVIEWED, unknown, item(State.REJECTED, name="it-2"))
    assert decision == Wait(reasons=("item it-1 is resume_unknown",))


def test_what_did_not_happen_is_tried_again() -> None:
    """X5"""
    decision = first(REVIEWED, item(State.RETRY_READY))
    assert isinstance(decision, CallTool)
    assert (decision.tool, decision.item) == ("execute_action", "it-1")


@pytest.mark.parametrize("state", [State.EXECUTION_CLAIMED, State.RETRY_READY])
def test_an_operation_in_other_hands_or_not_due_is_waited_for_until_then(
    state: State,
) -> None:
    """X2, X5"""
    busy = item(state).model_copy(update={"busy_until": LATER})
    decision = first(REVIEWED, busy)
    assert isinstance(decision, Wait) and decision.until == LATER
    assert isinstance(first(REVIEWED, busy, item(State.GRAPH_RESUMED)), CallTool)


# Ends

GRAVEST_FIRST: tuple[tuple[State, type[Decision], str], ...] = (
    (State.EXECUTION_UNKNOWN, Fail, "unknown"),
    (State.FAILED, Fail, "failed"),
    (State.BLOCKED, Block, "blocked"),
    (State.EXECUTED, Complete, "completed"),
    (State.EXPIRED, Complete, "expired"),
    (State.CANCELLED, Complete, "cancelled"),
    (State.REJECTED, Complete, "rejected"),
)
ENDS = [state for state, _, _ in GRAVEST_FIRST]


@pytest.mark.parametrize("end", GRAVEST_FIRST, ids=lambda end: end[0].value)
def test_the_gravest_item_says_how_a_request_ends(
    end: tuple[State, type[Decision], str],
) -> None:
    """A8, L9: block, failure and unknown outcome are three; all rejected closes."""
    state, kind, outcome = end
    lighter = ENDS[ENDS.index(state) :]
    items = [item(s, name=f"it-{n}") for n, s in enumerate(reversed(lighter))]
    decision = first(REVIEWED, *items)
    assert isinstance(decision, Complete | Fail | Block)
    assert (type(decision), decision.outcome) == (kind, outcome)


def test_an_end_tells_what_became_of_every_action() -> None:
    decision = first(REVIEWED, item(State.EXECUTED), item(State.REJECTED, name="it-2"))
    assert decision.reasons == ("a-1: executed", "a-2: rejected")
