"""A request's state comes back from the ledger with the meaning it went in with."""

import json
from datetime import UTC
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from policies.intent import EffectiveIntent, PayloadRef
from policies.plan import (
    Action,
    AgentPlan,
    ItemVerdict,
    PacketEvidence,
    PacketField,
    PacketItem,
    PlanReviewResult,
    ReviewPacket,
)
from policies.snapshot import EvidenceRef
from policies.state import (
    OPEN_STATUS,
    STEPS,
    ExecutionResult,
    RequestState,
    SessionStatus,
    Step,
)
from tests.unit.values import json_objects, json_values, texts, unhurried

numbers = st.integers(0, 9)
moments = st.datetimes(timezones=st.just(UTC))
evidence = st.builds(EvidenceRef, ref=texts, version=numbers, digest=texts)
actions = st.lists(
    st.builds(Action, confidence=st.none() | st.floats(0, 1)),
    max_size=3,
    unique_by=lambda action: action.id,
).map(tuple)
intents = st.builds(EffectiveIntent, resource_version=st.none() | numbers)
items = st.builds(
    PacketItem,
    payload=st.builds(PayloadRef, version=numbers),
    intent=intents,
    evidence=st.lists(st.builds(PacketEvidence, evidence=evidence), max_size=1).map(
        tuple
    ),
    risk_reasons=st.lists(texts, max_size=2).map(tuple),
    fields=st.lists(st.builds(PacketField, value=json_values), max_size=2).map(tuple),
    diff=st.none() | texts,
    deadline=moments,
    term_seconds=numbers,
)
verdicts = st.lists(
    st.builds(
        ItemVerdict,
        version=numbers,
        snapshot=st.text(min_size=8, max_size=12),
        edit=st.none() | json_objects,
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda verdict: verdict.item,
).map(tuple)
states = st.builds(
    RequestState,
    request=json_objects,
    context=st.none() | json_objects,
    analysis=st.none() | json_objects,
    proposal=st.none() | json_objects,
    agent_plan=st.none() | st.builds(AgentPlan, actions=actions),
    review_packet=st.none()
    | st.builds(ReviewPacket, items=st.lists(items, max_size=1).map(tuple)),
    plan_review_result=st.none() | st.builds(PlanReviewResult, verdicts=verdicts),
    review_decision=st.none() | texts,
    execution_result=st.lists(st.builds(ExecutionResult), max_size=2).map(tuple),
    completed_steps=st.lists(st.sampled_from(STEPS), unique=True).map(tuple),
)


def with_tuples(value: Any) -> Any:
    """The same JSON with tuples where lists were."""
    if isinstance(value, dict):
        return {name: with_tuples(member) for name, member in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value


@unhurried
@given(states)
def test_a_state_comes_back_from_json_as_it_went(state: RequestState) -> None:
    """L11: RequestState round-trips with equal meaning."""
    dumped = state.model_dump(mode="json")
    assert RequestState.model_validate(dumped) == state
    assert RequestState.model_validate(json.loads(json.dumps(dumped))) == state
    assert RequestState.model_validate_json(state.model_dump_json()) == state


@unhurried
@given(states)
def test_a_second_trip_changes_not_a_byte(state: RequestState) -> None:
    """L11: what was read and is written again is the same row."""
    first = state.model_dump_json()
    assert RequestState.model_validate_json(first).model_dump_json() == first


@unhurried
@given(states, json_objects)
def test_tuples_and_lists_mean_the_same(
    state: RequestState, proposal: dict[str, Any]
) -> None:
    """L11: a step may leave a tuple where the ledger gives back a list."""
    left = state.model_copy(update={"proposal": with_tuples(proposal)})
    kept = state.model_copy(update={"proposal": proposal})
    stored = json.loads(json.dumps(left.model_dump(mode="json", warnings=False)))
    assert RequestState.model_validate(stored) == kept


def test_a_state_that_was_never_written_is_read_as_empty() -> None:
    assert RequestState.model_validate({}) == RequestState()
    assert RequestState().completed_steps == ()


def test_every_result_of_a_request_has_its_place() -> None:
    """L11: the ten results that a person debugging wants to see."""
    assert set(RequestState.model_fields) == {
        *("request", "context", "analysis", "agent_plan", "proposal"),
        *("review_packet", "plan_review_result", "review_decision"),
        *("execution_result", "completed_steps"),
    }


def test_the_six_steps_stand_in_their_order() -> None:
    """L9: validate, collect, prepare, review, execute, close."""
    assert get_args(Step) == STEPS
    assert [step.partition("_")[0] for step in STEPS] == [
        *("validate", "collect", "prepare", "resolve", "execute", "close"),
    ]


def test_a_session_is_open_while_it_runs_or_waits_and_never_else() -> None:
    ended = set(get_args(SessionStatus)) - OPEN_STATUS
    assert ended == {
        *("completed", "rejected", "blocked", "failed"),
        *("expired", "cancelled", "unknown"),
    }
