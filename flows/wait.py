"""The only module that pauses or suspends a flow run.

What is asked and what was decided is in the ledger; Prefect shows the form and wakes
the run. Whatever a pause returns or raises, the ledger is read afterwards: an answer is
handed in there, and being un-paused proves nothing.

A wait is a hot pause first, for reviewers who are quick: it sees an answer at once.
Then it is a suspension that holds no process where the run has a deployment to come
back by, and one long pause that asks seldom where it has none.
"""

import asyncio
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import anyio
from httpx import HTTPError
from prefect.client.schemas.objects import State
from prefect.client.utilities import get_or_create_client
from prefect.exceptions import (
    FlowPauseTimeout,
    ObjectNotFound,
    Pause,
    PrefectHTTPStatusError,
)
from prefect.flow_runs import apause_flow_run, asuspend_flow_run
from prefect.input.actions import adelete_flow_run_input
from prefect.states import Running, Scheduled
from pydantic import ValidationError

from blocks.ledger.rounds import PauseKind, PauseRow
from blocks.prefect_forms import response_key
from blocks.recovery import Point, reach
from flows.cancelled import is_cancelled, stop_if_cancelled, waiting_in
from flows.form import run_input
from policies.decision import Wait
from policies.errors import Unavailable
from policies.interaction import Interaction
from policies.value import Json
from tasks import waiting
from tasks.services import Services
from tasks.waiting import Asking
from tasks.work import Work

# A pause always needs a number of seconds, since Prefect halves it.
_LONGEST = 7 * 24 * 3600.0
# How much longer than its deadline a suspended form stays: the ledger's deadline is
# what counts, and a run that Prefect fails at the same moment helps nobody.
_GRACE = 24 * 3600.0
_LONG_POLL = 5.0
_NO_SERVER = (HTTPError, PrefectHTTPStatusError)
# Its signature says whole seconds; it takes any number.
_pause: Any = apause_flow_run


class FlowRun(NamedTuple):
    """What a wait needs to know of the flow run it is in."""

    id: UUID
    deployed: bool


class Answer(NamedTuple):
    """A form's answer; `submitted_at` where it may be older than this moment."""

    values: dict[str, Json]
    submitted_at: datetime | None


async def wait_for(
    services: Services, work: Work, asked: tuple[Interaction, ...], run: FlowRun
) -> Work:
    """Wait until the round is over; what is recorded already is never asked again."""
    work = await _read_unread_answers(services, work, run)
    kind: PauseKind = "hot"
    typed: dict[str, Json] = {}
    while True:
        work, asking = waiting.next_form(services, work, asked, str(run.id), kind)
        if asking is None:
            return work
        asking = asking.model_copy(update={"typed": typed})
        values = await _show(services, work, asking, kind, run)
        answer = Answer(values, None) if values is not None else None
        if values is None:
            waiting.require_lease(services, work)
            time_is_over = await _make_running(run)
            answer = await _stored_answer(asking.pause)
            if time_is_over and answer is None and kind == "hot":
                kind = "suspended" if run.deployed else "long"
        elif kind == "suspended":
            # It was sent before this process was even started.
            answer = await _stored_answer(asking.pause) or answer
        if answer is not None:
            typed = answer.values
            work = waiting.take_answer(
                services, work, asking.form, answer.values, answer.submitted_at
            )
            await _forget_answer(asking.pause)
            kind = "hot"
        waiting.end_pause(services, work, asking.pause)


async def wait_until_changed(
    services: Services, work: Work, decision: Wait, run: FlowRun
) -> Work:
    """Wait until what holds it back is over, the time named has come, or Resume."""
    pause = waiting.start_plain_pause(services, work, str(run.id))
    try:
        with waiting_in(run.id, partial(_wake_when_free, services, work, run)):
            await _pause(
                timeout=_seconds(services, decision.until, _LONGEST),
                poll_interval=_LONG_POLL,
                key=pause.key,
            )
    except FlowPauseTimeout:
        await _make_running(run)
    return waiting.let_go(services, work, pause)


async def _show(
    services: Services, work: Work, asking: Asking, kind: PauseKind, run: FlowRun
) -> dict[str, Json] | None:
    """Pause with the form; its answer, or None if there was none."""
    try:
        with waiting_in(run.id, partial(_wake_when_over, services, work, kind, run)):
            return await _show_form(services, asking, kind)
    except Pause:
        # A verdict that came while we were on our way out found nobody to wake.
        if waiting.is_over(services, work):
            await _wake(run, Scheduled(name="Resuming"))
        raise


async def _wake_when_over(
    services: Services, work: Work, kind: PauseKind, run: FlowRun
) -> None:
    """Wake our own run once the ledger says that the wait is over.

    Whoever records a verdict wakes the run as well; but a verdict can come just before
    the pause begins, or while Prefect does not answer.
    """
    every = services.settings.poll_seconds if kind == "hot" else _LONG_POLL
    while True:
        await asyncio.sleep(every)
        reach(Point.PAUSED)
        with suppress(*_NO_SERVER, Unavailable):
            if waiting.is_over(services, work):
                await _wake(run, Running())


async def _wake_when_free(services: Services, work: Work, run: FlowRun) -> None:
    """Wake our own run once the guard would let go what it holds back."""
    while True:
        await asyncio.sleep(_LONG_POLL)
        with suppress(*_NO_SERVER, Unavailable):
            if waiting.may_go_on(services, work):
                await _wake(run, Running())


async def _show_form(
    services: Services, asking: Asking, kind: PauseKind
) -> dict[str, Json] | None:
    model = run_input(asking.form, asking.markdown, asking.typed)
    left = _seconds(services, asking.until, _LONGEST)
    settings = services.settings
    try:
        match kind:
            case "suspended":
                timeout = left + _GRACE
                answer = await asuspend_flow_run(
                    wait_for_input=model,
                    timeout=int(timeout),
                    key=asking.pause.key,
                )
            case "hot" | "long":
                hot = kind == "hot"
                answer = await _pause(
                    wait_for_input=model,
                    timeout=min(left, settings.hot_pause_seconds) if hot else left,
                    poll_interval=settings.poll_seconds if hot else _LONG_POLL,
                    key=asking.pause.key,
                )
    except (FlowPauseTimeout, ValidationError, *_NO_SERVER):
        # Its time is over, or it was woken from outside without an answer, or the
        # server went away: its form's answer, if any, is read when it is back.
        return None
    return answer.model_dump(mode="json")


async def _read_unread_answers(services: Services, work: Work, run: FlowRun) -> Work:
    """Take what was submitted to a form whose process has died before it read it."""
    for pause in waiting.unread_pauses(services, work):
        if pause.flow_run_id != str(run.id):
            await _close_form(UUID(pause.flow_run_id))
        answer = await _stored_answer(pause)
        values, sent_at = answer or (None, None)
        work = waiting.take_stored_answer(services, work, pause, values, sent_at)
        if answer is not None:
            await _forget_answer(pause)
    return work


async def _close_form(other_run: UUID) -> None:
    """Let Prefect refuse what is sent to the form of a run that we go on for.

    It would take it, and nobody would ever read it. A process that is alive after all
    wakes and finds that it is superseded.
    """
    client, _ = get_or_create_client()
    with suppress(ObjectNotFound):
        state = (await client.read_flow_run(other_run)).state
        if state is not None and state.is_paused():
            await client.set_flow_run_state(other_run, Running(), force=True)


async def _stored_answer(pause: PauseRow) -> Answer | None:
    """A form's answer as Prefect keeps it, with the time at which it was sent."""
    client, _ = get_or_create_client()
    key = response_key(pause)
    rows = await client.filter_flow_run_input(
        UUID(pause.flow_run_id), key_prefix=key, limit=1, exclude_keys=set()
    )
    found = rows[0].decoded_value if rows and rows[0].key == key else None
    return Answer(found, rows[0].created) if isinstance(found, dict) else None


async def _forget_answer(pause: PauseRow) -> None:
    """Delete a form's answer from Prefect: it holds a code, and the ledger has it."""
    try:
        await adelete_flow_run_input(
            response_key(pause), flow_run_id=UUID(pause.flow_run_id)
        )
    except _NO_SERVER:
        # The code in it is used up; nothing depends on its being gone.
        return


async def _make_running(run: FlowRun) -> bool:
    """Make the run Running again, so that it can pause again; whether it was Paused.

    A pause whose time is over leaves the run Paused, and a click that came too late
    makes it Failed; the next pause would end the process in both.
    """
    while True:
        try:
            return await _try_to_make_running(run)
        except _NO_SERVER:
            # A wait outlives the server's restart; the decision is in the ledger.
            await anyio.sleep(_LONG_POLL)


async def _try_to_make_running(run: FlowRun) -> bool:
    await stop_if_cancelled(run.id)
    # The run's own client: a new one loads all certificates, 28 ms of CPU.
    client, _ = get_or_create_client()
    state = (await client.read_flow_run(run.id)).state
    if state is not None and state.is_running():
        return False
    await _set_state(run, Running())
    return state is not None and state.is_paused()


async def _wake(run: FlowRun, state: State[Any]) -> None:
    """What was cancelled stays so."""
    if not await is_cancelled(run.id):
        await _set_state(run, state)


async def _set_state(run: FlowRun, state: State[Any]) -> None:
    client, _ = get_or_create_client()
    await client.set_flow_run_state(run.id, state, force=True)


def _seconds(services: Services, until: datetime | None, most: float) -> float:
    """How long until then, at least a moment and at most `most`."""
    if until is None:
        return most
    left = (until - services.clock()).total_seconds()
    return max(0.1, min(left, most))
