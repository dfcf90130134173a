"""What the README tells people to type does what it says, from nothing to a mail sent.

Its commands are read from it and typed in a shell, in their order.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from channels.child import Child
from channels.local_server import LocalServer
from tests.acceptance.command_line import clean
from tests.acceptance.eventually import eventually
from tests.acceptance.processes import end_all_with
from tests.smtp_server import RecordingServer

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SET_UP, LOOK_AFTER = "Use it for real", "When something dies, or must stop"


def section(name: str) -> list[str]:
    """The blocks of commands of a section, in their order."""
    text = README.split(f"## {name}\n")[1].split("\n## ")[0]
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        # The prose of a list's item is indented by three.
        if line.startswith("    "):
            blocks[-1].append(line)
        else:
            blocks.append([])
    return [dedent("\n".join(block)) for block in blocks if block]


class Newcomer:
    """Somebody who follows the README in a home of their own."""

    def __init__(self, folder: Path, server: LocalServer, mail_port: int) -> None:
        self.home, self.folder = folder / "home", folder / "work"
        self.home.mkdir()
        self.folder.mkdir()
        self._server = server
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {
            **clean(os.environ),
            **{"PATH": path, "HOME": str(self.home), "DO_NOT_TRACK": "1"},
            **{"PLACET_MAIL__PORT": str(mail_port), "PLACET_MAIL__SECURITY": "none"},
        }
        self.typed: list[str] = []
        self._children: list[Child] = []

    def types(self, block: str, **words: str) -> str:
        """Type a block, with these words filled in; what it says."""
        done = self._run(block, words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def tries(self, block: str, **words: str) -> int:
        """The exit code of what may fail."""
        return self._run(block, words).returncode

    def leaves_running(self, command: str) -> Path:
        """A command in a terminal of its own; its log."""
        self.typed.append(command)
        name, *tokens = shlex.split(command)
        log = self.folder / f"{name}.log"
        module = "channels" if name == "placet" else name
        env = self._run("env -0", {}).stdout.split("\0")
        sourced = dict(line.split("=", 1) for line in env if "=" in line)
        child = Child(module, tokens, log=log, cwd=self.folder, env=sourced)
        self._children.append(child)
        return log

    def leaves(self) -> None:
        """End all that was left running."""
        for child in self._children:
            child.stop()
        end_all_with(f"PLACET_HOME={self.home / 'placet'}")

    def _run(
        self, block: str, words: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        self.typed += block.splitlines()
        here = {
            "mail.example.com": "127.0.0.1",
            "http://127.0.0.1:4200/api": self._server.api_url,
        }
        for known, meant in {**here, **words}.items():
            block = block.replace(known, meant)
        script = re.sub(r"^\. .*\n?", "", block, flags=re.MULTILINE)
        return subprocess.run(
            ["bash", "-eu", "-c", f"[ ! -e ~/placet.env ] || . ~/placet.env\n{script}"],
            cwd=ROOT if "deploy" in block else self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture
def newcomer(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, mail: RecordingServer
) -> Iterator[Newcomer]:
    """With a Prefect server that nobody else has deployed anything to."""
    with LocalServer(tmp_path_factory.mktemp("newcomers-server")) as server:
        person = Newcomer(tmp_path, server, mail.port)
        yield person
        person.leaves()


@pytest.mark.timeout(360)
def test_a_newcomer_comes_from_nothing_to_a_decision_and_on(
    newcomer: Newcomer, mail: RecordingServer
) -> None:
    """W1, W4, X5: every block of commands, also where a mail server gives no answer."""
    settings, each, server, ledger, people, deploy, request, decide = section(SET_UP)
    for block in (settings, each, ledger):
        newcomer.types(block)
    newcomer.typed.append(server)
    *pool, worker = deploy.splitlines()
    newcomer.env["PLACET_TOKEN"] = token_in(newcomer.types(people))
    newcomer.types("\n".join(pool))
    newcomer.leaves_running(worker)
    workflow = workflow_in(newcomer.types(request))
    mail.behaviour = "drop_before_reply"

    decided(newcomer, decide)

    status_is(newcomer, workflow, "unknown")
    look_after(newcomer, workflow)
    status_is(newcomer, workflow, "completed")
    assert len(mail.received) == 1
    blocks = [*section(SET_UP), *section(LOOK_AFTER)]
    told = {line for block in blocks for line in block.splitlines()}
    assert told - {*newcomer.typed} == set()


def decided(newcomer: Newcomer, block: str) -> None:
    """What waits is found, shown and approved."""
    queue, show, token, decide = block.splitlines()
    item = eventually(lambda: re.search(r"it-\w+", newcomer.types(queue)))[0]
    shown = newcomer.types(show, ITEM=item)
    snapshot = re.search(r"--snapshot (\w+)", shown)
    assert snapshot is not None
    newcomer.typed.append(token)
    newcomer.types(decide, ITEM=item, SNAPSHOT=snapshot[1])


def look_after(newcomer: Newcomer, workflow: str) -> None:
    """The section about what dies, on a request whose outcome is not known."""
    supervise, resolve, freeze = section(LOOK_AFTER)
    service, once = supervise.splitlines()
    log = newcomer.leaves_running(service)
    eventually(lambda: f"placet resolve {workflow} happened" in log.read_text())
    assert f"placet resolve {workflow} happened" in newcomer.types(once)
    happened, not_happened = resolve.splitlines()
    newcomer.types(freeze)
    newcomer.types(happened, WORKFLOW=workflow)
    assert newcomer.tries(not_happened, WORKFLOW=workflow) == 5


def status_is(newcomer: Newcomer, workflow: str, status: str) -> None:
    """Wait until a request's status is that."""

    def same() -> bool:
        told = json.loads(newcomer.types(f"placet status {workflow} --json"))
        return bool(told["status"] == status)

    eventually(same)


def token_in(said: str) -> str:
    found = re.search(r"token  (\S+)", said)
    assert found is not None, said
    return found[1]


def workflow_in(said: str) -> str:
    found = re.search(r"wf-\w+", said)
    assert found is not None, said
    return found[0]
