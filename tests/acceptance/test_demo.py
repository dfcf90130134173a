"""`placet demo`: by script and with a person, stopped, killed, and going on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from channels.demo_home import REVIEWER, Asked
from channels.local_server import LocalServer
from policies.value import Json
from tests.acceptance.at_terminal import CTRL_C, AtTerminal
from tests.acceptance.command_line import clean
from tests.acceptance.eventually import eventually
from tests.acceptance.prefect_form import PatientClient, PrefectRun
from tests.acceptance.processes import end_all_with, running_with

WAITS = "r: review here"
WriteTicket = Callable[..., str]


class Home(NamedTuple):
    """A demo's folder, and the settings that its commands are run with."""

    folder: Path
    env: dict[str, str]

    @property
    def setting(self) -> str:
        """What every process of it has in its environment."""
        return f"PLACET_HOME={self.folder}"

    def run(self, *tokens: str) -> subprocess.CompletedProcess[str]:
        """Run the demo to its end, without a terminal."""
        return subprocess.run(
            [sys.executable, "-m", "channels", "demo", *tokens],
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def decide(self, answer: str, *tokens: str) -> Any:
        """What a demo that decides by script says at its end, as JSON."""
        done = self.run("--answers", answer, "--json", *tokens)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def at_terminal(self, *tokens: str) -> AtTerminal:
        """The demo with a person in front of it."""
        return AtTerminal("demo", *tokens, env=self.env)

    def mails(self) -> dict[str, str]:
        """The texts of all mails that ever arrived, by Message-ID."""
        files = (self.folder / "outbox").glob("*.eml")
        mails = [message_from_bytes(file.read_bytes()) for file in files]
        return {str(m["Message-ID"]): _text(m) for m in mails}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One folder for all demos here: the first one makes what the others find."""
    folder = tmp_path_factory.mktemp("demo")
    ours = {"PLACET_HOME": str(folder), "PLACET_LEASE_SECONDS": "3"}
    made = Home(folder, {**clean(os.environ), **ours, "TERM": "xterm"})
    yield made
    end_all_with(made.setting)


@pytest.fixture
def ticket(tmp_path: Path) -> WriteTicket:
    """Write a file with a ticket that only this test has; its path."""

    def write(**fields: Json) -> str:
        name = f"t-{tmp_path.name}"
        customer = {"id": name, "name": "Zoë 😀", "email": "zoe@example.com"}
        plain = {"id": name, "customer": name, "sender": "zoe@example.com"}
        row = {**plain, "message": "Please track order 100234.", **fields}
        file = tmp_path / "ticket.json"
        file.write_text(json.dumps({"customers": [customer], "tickets": [row]}))
        return str(file)

    return write


@pytest.fixture
def served(home: Home, prefect_server: LocalServer) -> Home:
    """The same, on the Prefect server that is there already."""
    return Home(home.folder, {**home.env, "PREFECT_API_URL": prefect_server.api_url})


def test_ctrl_c_leaves_nothing_running_and_the_next_demo_goes_on(home: Home) -> None:
    with home.at_terminal() as person:
        person.see(WAITS)
        person.type("", then=CTRL_C)
        person.see("nothing is left running")
        assert person.ended() == 130
    assert running_with(home.setting) == []
    waiting, said = _request(home), home.decide("approve")
    (sent,) = said["sent"]
    assert home.mails() == {sent["message_id"]: sent["text"]}
    assert (said["workflow_id"], sent["version"]) == (waiting, 1)
    assert running_with(home.setting) == []


def test_editing_sends_the_second_version_and_never_the_first(served: Home) -> None:
    before = served.mails()
    said = served.decide("edit")
    (sent,) = said["sent"]
    item = said["path"]["items"][0]
    assert served.mails() == {**before, sent["message_id"]: sent["text"]}
    assert [v["version"] for v in item["versions"]] == [1, 2] and sent["version"] == 2
    assert "before the letter was approved" in sent["text"]


def test_rejecting_the_reply_to_a_ticket_of_ones_own_sends_nothing(
    served: Home, ticket: WriteTicket
) -> None:
    before, odd = served.mails(), ticket(message="", language="fr")
    said = served.decide("reject", "--ticket", odd)
    assert (said["status"], said["sent"], served.mails()) == ("rejected", [], before)


def test_the_code_on_the_screen_signs_the_form_in_prefect(
    served: Home, ticket: WriteTicket
) -> None:
    with served.at_terminal("--ticket", ticket()) as person:
        shown = person.see(WAITS)
        page = _found(r"(http://\S+)/runs/flow-run/(\S+)", shown)
        code = _found(r"One-time code (\d{6})", shown)[1]
        with PatientClient(base_url=f"{page[1]}/api", trust_env=False) as api:
            run = PrefectRun(api, page[2])
            proof = {"reviewer": REVIEWER, "code": code}
            said = run.resume({**run.form().choose("approve"), **proof})
        assert said.status == "ACCEPT"
        person.see(f"approved: version 1, by {REVIEWER} (prefect form)")
        assert person.ended() == 0


def test_a_killed_demo_leaves_nothing_running_and_its_mail_is_sent_once(
    served: Home, ticket: WriteTicket
) -> None:
    before = served.mails()
    with served.at_terminal("--ticket", ticket()) as person:
        person.see(WAITS)
        person.kill()
    eventually(lambda: not running_with(served.setting))
    waiting = _request(served)
    said = served.decide("approve")
    assert (said["workflow_id"], said["status"]) == (waiting, "completed")
    assert len(served.mails()) == len(before) + 1


def test_term_ends_it_like_ctrl_c_and_it_can_be_reviewed_right_here(
    served: Home, ticket: WriteTicket
) -> None:
    with served.at_terminal("--ticket", ticket()) as person:
        person.see(WAITS)
        os.kill(person.pid, signal.SIGTERM)
        assert person.ended() == 128 + signal.SIGTERM
    assert running_with(served.setting) == []
    with served.at_terminal() as person:
        person.see("whose request was left open")
        person.see(WAITS)
        person.type("r", then="")
        person.see("[q]uit >")
        person.type("a")
        person.see("Sent: version 1, exactly as approved")
        assert person.ended() == 0


def test_two_demos_do_not_share_a_folder(served: Home) -> None:
    with served.at_terminal() as person:
        person.see("1/6")
        second = served.run("--answers", "approve")
        assert second.returncode == 5
        assert "A demo is running already" in second.stderr
        person.type("", then=CTRL_C)
        person.ended()


@pytest.mark.parametrize(
    ("tickets", "words"),
    [
        ([], "exactly one ticket"),
        ([{"id": "t-8", "sendr": "x@example.com"}], "tickets.0.sender"),
        ([{"id": "T-1001", "sender": "x@example.com"}], "an id of its own"),
    ],
)
def test_a_ticket_that_cannot_be_used_is_told_before_anything_starts(
    home: Home, tmp_path: Path, tickets: list[Json], words: str
) -> None:
    file = tmp_path / "ticket.json"
    file.write_text(json.dumps({"tickets": tickets}))
    done = home.run("--answers", "approve", "--ticket", str(file))
    assert done.returncode in (2, 5) and words in done.stderr


def test_the_demo_keeps_away_from_every_environment_but_dev(home: Home) -> None:
    done = Home(home.folder, {**home.env, "PLACET_ENVIRONMENT": "prod"}).run()
    assert (done.returncode, done.stdout) == (3, "")


def test_what_the_demo_keeps_is_its_owners_alone(home: Home) -> None:
    for name in ("secret-key", "demo-reviewer.json"):
        assert (home.folder / name).stat().st_mode & 0o077 == 0


def _request(home: Home) -> str:
    return Asked.model_validate_json((home.folder / "demo.json").read_bytes()).workflow


def _found(pattern: str, text: str) -> re.Match[str]:
    found = re.search(pattern, text)
    assert found is not None, text
    return found


def _text(message: Any) -> str:
    body: bytes = message.get_payload(decode=True)
    return body.decode().replace("\r\n", "\n")
