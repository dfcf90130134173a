"""What Placet leans on in Prefect; a test here fails when Prefect changes it.

The flows are played by one process of its own (`python -m` this module); each test has
a run to itself and does to it what a person, a channel or an accident would do.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Self, TypeVar
from uuid import uuid4

import httpx
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import Abort, FlowPauseTimeout, Pause
from prefect.flow_engine import run_flow_async
from prefect.flow_runs import apause_flow_run, asuspend_flow_run
from prefect.input import RunInput
from prefect.states import Running
from pydantic import Field, create_model

from channels.local_server import LocalServer
from tests.acceptance.prefect_ui import UIS, UiName

if TYPE_CHECKING:
    from playwright.sync_api import Page

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
KEY = "r1-1"
COLD_KEY = "r1-1-cold"
HOT, COLD = f"paused-{KEY}", f"suspended-{COLD_KEY}"
ANSWER = {"decision": "leave open", "reviewer": "ann"}


def shown(position: int, title: str, assumed: Any = ..., **schema: Any) -> Any:
    extra = {"position": position, **schema}
    return Field(assumed, title=title, json_schema_extra=extra)


Decision: Any = Literal["approve v2 a1b2c3d4", "leave open"]
Form = create_model(
    "Form",
    __base__=RunInput,
    reviewer=(str, shown(1, "Reviewer")),
    decision=(Decision, shown(0, "1. Reply")),
    # The page is given the text, the model is not: a cleared text is not sent at all.
    body=(str, shown(2, "Body", None, default="Dear\r\nAnn", format="json-string")),
)
Form._description = "# Order 42\n\n````\n<b>as is</b> {{ 7 * 7 }}\n````\n"


@flow
async def ask(key: str = KEY) -> Any:
    wait: Any = apause_flow_run
    return await wait(Form, timeout=600, poll_interval=0.1, key=key)


@flow
async def superseded() -> None:
    raise Abort("A newer holder has taken over.")


@flow
async def suspend() -> None:
    await asuspend_flow_run(Form, timeout=600, key=COLD_KEY)


@flow
async def suspend_below() -> None:
    await suspend()


@flow
async def hand_over() -> Any:
    """A hot window that runs out, then a suspension; the replay asks for that alone."""
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None
    if context.flow_run.run_count == 1:
        with pytest.raises(FlowPauseTimeout):
            await apause_flow_run(Form, timeout=1, poll_interval=1, key=KEY)
        async with get_client() as client:
            await client.set_flow_run_state(context.flow_run.id, Running(), force=True)
    return await asuspend_flow_run(Form, timeout=600, key=COLD_KEY)


async def two_attempts(name: str) -> Any:
    """Do what a worker does: run until suspended, and again once it is scheduled."""
    async with get_client() as client:
        deployment = await client.create_deployment(
            await client.create_flow(hand_over), name="facts"
        )
        run = await client.create_flow_run_from_deployment(deployment, name=name)
        with pytest.raises(Pause):
            await run_flow_async(hand_over, flow_run=run)
        while (await client.read_flow_run(run.id)).state_name != "Resuming":
            await asyncio.sleep(0.05)
        again = await client.read_flow_run(run.id)
        return await run_flow_async(hand_over, flow_run=again)


SCENARIOS: dict[str, Callable[[str], Awaitable[Any]]] = {
    "ask": lambda name: ask.with_options(flow_run_name=name)(KEY),
    "ask-in-capitals": lambda name: ask.with_options(flow_run_name=name)("R1-1"),
    "superseded": lambda name: superseded.with_options(flow_run_name=name)(),
    "suspend-below": lambda name: suspend_below.with_options(flow_run_name=name)(),
    "hand-over": two_attempts,
}


async def play(scenario: str, name: str) -> None:
    try:
        outcome = repr(await SCENARIOS[scenario](name))
    except BaseException as error:
        outcome = type(error).__name__
    print(f"OUTCOME {name} {outcome}", flush=True)


async def play_what_is_asked() -> None:
    playing = set()
    while line := await asyncio.to_thread(sys.stdin.readline):
        playing.add(asyncio.create_task(play(*line.split())))


def until(look: Callable[[], T | None], within: float = 60) -> T:
    deadline = time.monotonic() + within
    while not (seen := look()):
        assert time.monotonic() < deadline, "It did not happen in time."
        time.sleep(0.05)
    return seen


def unless_busy(response: httpx.Response) -> httpx.Response | None:
    return None if response.status_code == 503 else response


@dataclass(kw_only=True)
class Run:
    """One run that is being played, seen from outside."""

    api: httpx.Client
    name: str
    log: Path

    @cached_property
    def path(self) -> str:
        """Where the API has this run, once it is there."""
        wanted = {"flow_runs": {"name": {"any_": [self.name]}}}
        found = until(lambda: self.api.post("/flow_runs/filter", json=wanted).json())
        return f"/flow_runs/{found[0]['id']}"

    @property
    def id(self) -> str:
        return self.path.removeprefix("/flow_runs/")

    def wait_for_form(self, form: str = HOT) -> Self:
        """Return once the run waits and its form is stored."""
        until(lambda: self.input(f"{form}-schema").is_success)
        return self

    def input(self, key: str) -> httpx.Response:
        return self.api.get(f"{self.path}/input/{key}")

    def state(self) -> str:
        return str(self.api.get(self.path).json()["state"]["name"])

    def resume(self, answer: dict[str, str]) -> tuple[int, str]:
        """The HTTP status, and what the body says."""
        said = self.post("resume", {"run_input": answer})
        return said.status_code, said.json()["status"]

    def post(self, what: str, body: dict[str, Any]) -> httpx.Response:
        """Ask for a change; on SQLite a busy server answers 503 now and then."""
        path = f"{self.path}/{what}"
        return until(lambda: unless_busy(self.api.post(path, json=body)))

    def outcome(self) -> str:
        """What the flow returned, or the name of what it raised."""
        start = f"\nOUTCOME {self.name} "
        said = until(lambda: self.log.read_text().partition(start)[2])
        return said.partition("\n")[0]


Start = Callable[[str], Run]


@pytest.fixture(scope="module")
def player(
    prefect_server: LocalServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[IO[str], Path]]:
    home = tmp_path_factory.mktemp("facts")
    ours = {"PREFECT_API_URL": prefect_server.api_url, "PREFECT_HOME": str(home)}
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-m", "tests.acceptance.test_prefect_facts"],
            cwd=ROOT,
            env={**os.environ, **ours},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        yield process.stdin, home / "log"
        process.kill()


@pytest.fixture
def start(prefect_server: LocalServer, player: tuple[IO[str], Path]) -> Iterator[Start]:
    """Play a scenario as a run of its own."""
    asked, log = player
    with httpx.Client(base_url=prefect_server.api_url, trust_env=False) as api:

        def start(scenario: str) -> Run:
            name = f"{scenario}-{uuid4()}"
            print(scenario, name, file=asked, flush=True)
            return Run(api=api, name=name, log=log)

        yield start


def test_p4_a_stale_choice_is_refused_inside_a_success(start: Start) -> None:
    run = start("ask").wait_for_form()

    stale = {**ANSWER, "decision": "approve v1 00000000"}

    assert run.resume(stale) == (200, "REJECT")
    assert run.state() == "Paused"


def test_an_empty_answer_is_refused_where_fields_have_no_default(start: Start) -> None:
    run = start("ask").wait_for_form()

    assert run.resume({}) == (200, "REJECT")
    assert run.state() == "Paused"


def test_p4_a_second_answer_is_refused_inside_a_success(start: Start) -> None:
    run = start("ask").wait_for_form()

    assert run.resume(ANSWER) == (201, "ACCEPT")
    assert run.resume(ANSWER) == (200, "ABORT")


def test_a_wake_without_answer_is_a_validation_error_in_the_flow(start: Start) -> None:
    run = start("ask").wait_for_form()

    run.post("set_state", {"state": {"type": "RUNNING"}})

    assert run.outcome() == "ValidationError"


def test_an_answer_can_be_read_by_name_and_deleted(start: Start) -> None:
    run = start("ask").wait_for_form()
    run.resume(ANSWER)
    run.outcome()

    assert run.input(f"{HOT}-response").json() == ANSWER
    run.api.delete(f"{run.path}/input/{HOT}-response")
    assert run.input(f"{HOT}-response").status_code == 404


def test_inputs_come_one_by_one_unless_more_are_asked_for(start: Start) -> None:
    run = start("ask").wait_for_form()
    until(lambda: run.input(f"{HOT}-description").is_success)

    def listed(**options: Any) -> list[Any]:
        return list(run.post("input/filter", {"prefix": "", **options}).json())

    assert len(listed()) == 1
    assert len(listed(limit=200)) == 2


def test_p10_a_pause_key_with_a_capital_leaves_no_form_to_answer(start: Start) -> None:
    run = start("ask-in-capitals")

    assert run.outcome() == "ValidationError"
    history = run.api.get("/flow_run_states/", params={"flow_run_id": run.id})
    assert "Paused" in [state["name"] for state in history.json()]


def test_a_hot_window_that_ran_out_can_become_a_suspension(start: Start) -> None:
    run = start("hand-over").wait_for_form(COLD)

    assert run.resume(ANSWER) == (201, "ACCEPT")
    assert "decision='leave open'" in run.outcome()
    assert run.input(f"{COLD}-response").json() == ANSWER


def test_a_superseded_process_leaves_the_state_as_it_was(start: Start) -> None:
    run = start("superseded")

    assert run.outcome() == "Abort"
    assert run.state() == "Running"


def test_a_flow_below_another_cannot_suspend(start: Start) -> None:
    assert start("suspend-below").outcome() == "RuntimeError"


@pytest.mark.parametrize("name", UIS)
def test_a_person_is_told_what_is_missing_and_a_cleared_text_is_not_sent(
    name: UiName, start: Start, page: Page, prefect_server: LocalServer
) -> None:
    run = start("ask").wait_for_form()
    # The state comes first, then the form: a page that is opened between has none.
    until(lambda: run.input(f"{HOT}-description").is_success)
    ui = UIS[name](page, prefect_server.url)
    ui.open_resume_form(run.id)
    ui.fill("Body", "")
    ui.fill("Reviewer", "ann")

    assert not ui.submit()
    assert "'decision' is a required property" in ui.form_errors()[0]
    ui.fill("1. Reply", "leave open")
    assert ui.submit()
    assert run.input(f"{HOT}-response").json() == ANSWER


@pytest.mark.parametrize("name", UIS)
def test_a_person_reads_the_packet_as_it_was_written_above_a_short_form(
    name: UiName, start: Start, page: Page, prefect_server: LocalServer
) -> None:
    run = start("ask").wait_for_form()
    until(lambda: run.input(f"{HOT}-description").is_success)
    ui = UIS[name](page, prefect_server.url)
    ui.open_resume_form(run.id)

    assert "<b>as is</b> {{ 7 * 7 }}" in ui.packet_text()
    assert ui.packet_height() > 100
    assert ui.fields() == ["1. Reply", "Reviewer", "Body (Optional)"]
    assert ui.choices("1. Reply") == ["approve v2 a1b2c3d4", "leave open"]


if __name__ == "__main__":
    asyncio.run(play_what_is_asked())
