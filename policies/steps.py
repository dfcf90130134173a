"""Which decisions are permitted now. The first one is what rules alone would take.

The order of a request's steps is the same in every domain; the adapter adds its
questions and blockers. An effect is never permitted without an approved item.
"""

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
)
from policies.lifecycle import OPEN, State
from policies.state import ItemView, Step, View

EXECUTABLE = frozenset(
    {State.GRAPH_RESUMED, State.EXECUTION_CLAIMED, State.RETRY_READY}
)
APPROVED = frozenset({State.APPROVED, State.RESUME_CLAIMED})
# Neither final nor ours to move: reconciliation does.
_IN_OTHER_HANDS = frozenset({State.RESUME_UNKNOWN})
_STAYS_FOREVER = frozenset({"approval_spent", "key_conflict", "key_expired"})


def permitted(view: View, adapter: Adapter) -> tuple[Decision, ...]:
    """Everything that may be done next, best first; never empty."""
    return _before_plan(view, adapter) or _with_items(view, adapter) or (_end(view),)


def _step(step: Step, *reasons: str, item: str | None = None) -> CallTool:
    return CallTool(tool=step, item=item, reasons=reasons)


def _before_plan(view: View, adapter: Adapter) -> tuple[Decision, ...]:
    stopped = (view.state.analysis or {}).get("stopped")
    if isinstance(stopped, dict):
        return (Block(reasons=(f"{stopped['step']}: {stopped['why']}",)),)
    done = view.state.completed_steps
    if "validate_request" not in done:
        return (_step("validate_request", "a request is checked before anything else"),)
    if "collect_context" not in done:
        return (_step("collect_context", "facts are collected before a draft is made"),)
    if "resolve_review" in done:
        return ()
    blockers = adapter.blockers(view)
    if blockers:
        return (Block(reasons=blockers),)
    return _asking(view, adapter) or _preparing(view)


def _asking(view: View, adapter: Adapter) -> tuple[Decision, ...]:
    questions = adapter.questions(view)
    if not questions:
        return ()
    ask = Ask(questions=questions, reasons=tuple(q.question for q in questions))
    can_go_on = adapter.permitted_work(view) or adapter.propose(view)
    if any(q.required for q in questions) or not can_go_on:
        return (ask,)
    return (ask, *_preparing(view))


def _preparing(view: View) -> tuple[Decision, ...]:
    if "prepare_agent_work" not in view.state.completed_steps:
        return (_step("prepare_agent_work", "the context is complete"),)
    plan = view.state.agent_plan
    if plan is not None and plan.actions:
        return (
            _step("resolve_review", "the plan is valid; risk decides who judges it"),
        )
    return ()


def _with_items(view: View, adapter: Adapter) -> tuple[Decision, ...]:
    states = {item.state for item in view.items}
    if State.REAPPROVAL_REQUIRED in states:
        why = "what was approved is no longer so: a new version is asked"
        return (_step("resolve_review", why),)
    # A hold is the guard's, on what was approved: what is asked again is not held.
    free = [item for item in view.items if item.state in OPEN or not item.held]
    if any(item.state in OPEN | APPROVED for item in free):
        why = f"{sum(i.state in OPEN for i in free)} items wait for a verdict"
        return (RequestApproval(questions=adapter.remarks(view), reasons=(why,)),)
    busy = [item for item in free if item.busy_until is not None]
    for item in free:
        if item.state in EXECUTABLE and item not in busy:
            why = f"item {item.item} was approved at version {item.version}"
            return (_step("execute_action", why, item=item.item),)
    if busy:
        return (_until_free(busy),)
    return _held([i for i in view.items if i.state in APPROVED | EXECUTABLE]) or (
        _waiting([i for i in view.items if i.state in _IN_OTHER_HANDS])
    )


def _until_free(items: list[ItemView]) -> Decision:
    """Another process may be sending it, or it is tried again later."""
    reasons = tuple(f"item {i.item} is in hand or not due yet" for i in items)
    until = min(i.busy_until for i in items if i.busy_until)
    return Wait(until=until, reasons=reasons)


def _held(items: list[ItemView]) -> tuple[Decision, ...]:
    """What the guard refused in place: wait, or stop where no time mends it."""
    if not items:
        return ()
    reasons = tuple(f"item {i.item}: {', '.join(i.held)}" for i in items)
    if any(_STAYS_FOREVER & set(i.held) for i in items):
        return (Block(reasons=reasons),)
    ends = [i.busy_until for i in items if i.busy_until]
    return (Wait(until=min(ends, default=None), reasons=reasons),)


def _waiting(items: list[ItemView]) -> tuple[Decision, ...]:
    """What is neither over nor to be executed by us now."""
    if not items:
        return ()
    return (Wait(reasons=tuple(f"item {i.item} is {i.state.value}" for i in items)),)


def _end(view: View) -> Decision:
    """How a request ends when nothing is left to do: the gravest item decides."""
    states = {item.state for item in view.items}
    told = tuple(f"{i.action}: {i.state.value}" for i in view.items)
    told = told or ("no action was proposed",)
    if State.EXECUTION_UNKNOWN in states:
        return Fail(outcome="unknown", reasons=told)
    if State.FAILED in states:
        return Fail(outcome="failed", reasons=told)
    if State.BLOCKED in states:
        return Block(reasons=told)
    if State.EXECUTED in states or not states:
        return Complete(outcome="completed", reasons=told)
    if State.EXPIRED in states:
        return Complete(outcome="expired", reasons=told)
    if State.CANCELLED in states:
        return Complete(outcome="cancelled", reasons=told)
    return Complete(outcome="rejected", reasons=told)
