"""The state table keeps its promises, whatever happens in whatever order."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import lifecycle
from policies.errors import Conflict
from policies.lifecycle import FINAL, OPEN, TABLE, Event, State

DOCUMENT = Path(__file__).parents[2] / "docs" / "states.md"
APPROVALS = {Event.APPROVE, Event.POLICY_APPROVE}
CHANGES = {Event.EDIT, Event.SELECT, Event.NEW_VERSION, Event.WITHDRAW}

Edge = tuple[State | None, Event, State]


def edges() -> Iterator[Edge]:
    for row in TABLE:
        for source in row.sources:
            for target in row.targets_from(source):
                yield source, row.event, target


EDGES = tuple(edges())


def reachable(start: State | None, through: tuple[Edge, ...] = EDGES) -> set[State]:
    """Every state that some sequence of these edges leads to from there."""
    seen: set[State] = set()
    todo: list[State | None] = [start]
    while todo:
        here = todo.pop()
        fresh = {to for source, _, to in through if source == here} - seen
        seen |= fresh
        todo.extend(fresh)
    return seen


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: "-".join(map(str, edge)))
def test_every_listed_step_leads_where_the_table_says(edge: Edge) -> None:
    source, event, target = edge
    assert lifecycle.advance(source, event, target) == target


@pytest.mark.parametrize("state", [None, *State])
def test_every_other_step_is_refused(state: State | None) -> None:
    listed = {event for source, event, _ in EDGES if source == state}
    for event in set(Event) - listed:
        with pytest.raises(Conflict) as refusal:
            lifecycle.advance(state, event)
        assert refusal.value.code == "illegal_transition"


@given(
    edge=st.sampled_from(EDGES),
    to=st.sampled_from(State),
)
def test_a_listed_event_never_leads_to_an_unlisted_state(edge: Edge, to: State) -> None:
    source, event, _ = edge
    if (source, event, to) in EDGES:
        assert lifecycle.advance(source, event, to) == to
    else:
        with pytest.raises(Conflict, match=f"does not go to {to} by '{event}'"):
            lifecycle.advance(source, event, to)


def test_a_choice_that_is_left_open_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="needs `to`: one of escalated, expired"):
        lifecycle.advance(State.QUEUED, Event.DEADLINE_PASSED)


def test_a_refusal_names_the_state_the_event_and_what_is_possible() -> None:
    with pytest.raises(Conflict) as refusal:
        lifecycle.advance(State.ASSIGNED, Event.APPROVE)
    assert "is assigned does not take 'approve'" in refusal.value.message
    assert refusal.value.hint == (
        "Possible: open, escalate, deadline_passed, extend, reassign, cancel."
    )


def test_a_refusal_says_that_a_state_is_final() -> None:
    with pytest.raises(Conflict, match="Possible: nothing, it is final"):
        lifecycle.advance(State.REJECTED, Event.APPROVE)


@given(st.data())
def test_no_sequence_of_events_executes_what_was_not_approved(
    data: st.DataObject,
) -> None:
    state: State | None = None
    past: set[State | None] = set()
    for _ in range(data.draw(st.integers(1, 25))):
        ahead = [(event, to) for source, event, to in EDGES if source == state]
        if not ahead:
            break
        past.add(state)
        state = lifecycle.advance(state, *data.draw(st.sampled_from(ahead)))
    assert state not in {State.EXECUTION_CLAIMED, State.EXECUTED} or (
        State.APPROVED in past
    )


def test_nothing_leaves_a_final_state() -> None:
    leaving = [edge for edge in EDGES if edge[0] in FINAL]
    assert leaving == [(State.EXECUTED, Event.ROLL_BACK, State.EXECUTED)]


def test_an_effect_is_claimed_only_after_an_approval() -> None:
    around = tuple(edge for edge in EDGES if State.APPROVED not in edge)
    assert State.EXECUTION_CLAIMED in reachable(None)
    assert State.EXECUTION_CLAIMED not in reachable(None, around)


def test_nothing_but_an_approval_approves() -> None:
    without = tuple(edge for edge in EDGES if edge[1] not in APPROVALS)
    arrivals = {event for source, event, to in EDGES if to == State.APPROVED != source}
    assert State.APPROVED not in reachable(None, without)
    assert arrivals == APPROVALS | {Event.RESUME_RECONCILE}


def test_time_never_approves() -> None:
    by_time = {to for _, event, to in EDGES if event == Event.DEADLINE_PASSED}
    assert by_time == {State.ESCALATED, State.EXPIRED}


@pytest.mark.parametrize("state", sorted(set(State) - FINAL))
def test_every_state_is_reached_and_none_is_a_dead_end(state: State) -> None:
    assert state in reachable(None)
    assert reachable(state) & FINAL


@pytest.mark.parametrize("state", [State.EXECUTION_UNKNOWN, *sorted(FINAL)])
def test_nothing_is_cancelled_once_an_effect_may_be_under_way(state: State) -> None:
    with pytest.raises(Conflict):
        lifecycle.advance(state, Event.CANCEL)


def test_whatever_changes_or_withdraws_an_approval_asks_again() -> None:
    after = {to for _, event, to in EDGES if event in CHANGES}
    assert after == {State.WAITING_FOR_REVIEW}
    assert after <= OPEN


def test_what_nobody_approved_never_reads_as_approved() -> None:
    without = tuple(edge for edge in EDGES if edge[1] not in APPROVALS)
    void = {State.BLOCKED, State.CANCELLED, State.REAPPROVAL_REQUIRED}
    for state in reachable(None, without) | void:
        assert lifecycle.decision_state(state) != "approved"


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_meaning_and_a_decision(state: State) -> None:
    assert lifecycle.MEANING[state].endswith(".")
    assert lifecycle.decision_state(state)


def test_an_execution_reads_as_approved_and_a_block_does_not() -> None:
    assert lifecycle.decision_state(State.EXECUTED) == "approved"
    assert lifecycle.decision_state(State.FAILED) == "approved"
    assert lifecycle.decision_state(State.BLOCKED) == "expired"


def test_the_document_is_the_table() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == lifecycle.as_markdown()
