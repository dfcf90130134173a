"""The real parts of a chaos run: what is started, what dies, what is started again."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread

from blocks.ledger import claims, items
from blocks.ledger.sessions import workflow_id
from channels.local_server import LocalServer
from policies.errors import PlacetError
from tests.acceptance.installation import Installation
from tests.acceptance.processes import running_with
from tests.chaos.mail import MoodyServer
from tests.chaos.plan import Blow, Story
from tests.chaos.postgres import Postgres
from tests.chaos.told import Told
from tests.chaos.worker import Worker

_CARRIERS = 2


class Parts:
    """Two flow processes, a supervisor, the Prefect server, the mail server, a ledger.

    `died` counts what was killed, by kind, when it has died.
    """

    def __init__(
        self,
        installation: Installation,
        server: LocalServer,
        mail: MoodyServer,
        base: Postgres | None,
        worker: Worker | None,
    ) -> None:
        self.installation = installation
        self.mail = mail
        self.died: Counter[str] = Counter()
        self.ended_by_themselves: list[Path] = []
        self._server = server
        self._postgres = base
        self._worker = worker
        self._numbers = count(1)
        self._starting: Thread | None = None
        self._killed: set[int] = set()
        self._carried: dict[str, Story] = {}
        self._carriers = [self._start("carrier") for _ in range(_CARRIERS)]
        self._supervisor = self._start("supervisor")

    @property
    def server_is_up(self) -> bool:
        """Whether the Prefect server was not killed, or has come back."""
        return self._starting is None or not self._starting.is_alive()

    def carry(self, story: Story) -> None:
        """Have a flow process carry a request, and again whenever that has died.

        A deployed one is submitted by whoever wants it, and brought back by others.
        """
        if story.deployed:
            assert self._worker is not None
            self._worker.requests.append(story.id)
            return
        self._carried[story.id] = story
        self._tell(story)

    def ended(self) -> Iterator[tuple[str, str]]:
        """The requests that are not carried any more, each with how that ended."""
        for carrier in self._carriers:
            for line in carrier.said():
                told = json.loads(line)
                self._carried.pop(told["ended"], None)
                yield told["ended"], told["how"]

    def strike(self, blow: Blow) -> bool:
        """Let one thing die, now or at one of its next statements; False: not yet."""
        carrier = self._carriers[blow.number % _CARRIERS]
        match blow.kind:
            case "flow killed":
                return self._kill(carrier, blow.kind)
            case "flow killed between statements":
                return carrier.tell(die=blow.number)
            case "supervisor killed":
                return self._kill(self._supervisor, blow.kind)
            case "supervisor killed between statements":
                return self._supervisor.tell(die=blow.number)
            case "Prefect server killed":
                self._kill_server()
            case "PostgreSQL restarted":
                assert self._postgres is not None
                self._postgres.restart()
            case "worker killed":
                assert self._worker is not None
                self._worker.kill()
            case "worker's flow killed":
                assert self._worker is not None
                if not self._worker.kill_flow():
                    return False
        self.died[blow.kind] += 1
        return True

    def kill_sender(self, recipient: str) -> None:
        """Kill the process that is handing over a mail at this moment."""
        workflow = workflow_id(recipient.partition("@")[0])
        ours = running_with(f"PLACET_HOME={self.installation.folder}")
        with suppress(PlacetError), self.installation.services.ledger.read() as tx:
            (item,) = items.of_workflow(tx, workflow)
            owner = claims.of_item(tx, item.id)[-1].owner
            pid = int(owner.rpartition(":")[2])
            if pid in ours:
                self._killed.add(pid)
                self.died["sender killed while it handed over a mail"] += 1
                os.kill(pid, signal.SIGKILL)

    def tend(self) -> None:
        """Start again what has died; a flow process goes on with its requests."""
        for where, carrier in enumerate(self._carriers):
            if carrier.is_dead:
                self._bury(carrier, "flow")
                self._carriers[where] = self._start("carrier")
                for story in self._carried.values():
                    if self._where(story) == where:
                        self._tell(story)
        if self._supervisor.is_dead:
            self._bury(self._supervisor, "supervisor")
            self._supervisor = self._start("supervisor")
        if self._worker is not None:
            self._worker.tend()

    def wait_for_server(self) -> None:
        """Return once the Prefect server is there again."""
        if self._starting is not None:
            self._starting.join()

    def close(self) -> None:
        """End all processes of ours."""
        self.wait_for_server()
        for told in (*self._carriers, self._supervisor):
            told.kill()
        self._server.stop()

    def _start(self, name: str) -> Told:
        file = self.installation.folder / f"{name}-{next(self._numbers)}"
        return Told(f"tests.chaos.{name}", file, self.installation.env)

    def _where(self, story: Story) -> int:
        return story.number % _CARRIERS

    def _tell(self, story: Story) -> None:
        request = {"ticket_id": story.id}
        self._carriers[self._where(story)].tell(carry=story.id, request=request)

    def _kill(self, told: Told, kind: str) -> bool:
        if told.is_dead:
            return False
        self._killed.add(told.pid)
        self.died[kind] += 1
        told.kill()
        return True

    def _bury(self, told: Told, name: str) -> None:
        told.kill()
        if told.pid in self._killed:
            return
        if told.ended_with == -signal.SIGKILL:
            self.died[f"{name} killed between statements"] += 1
        else:
            self.ended_by_themselves.append(told.err)

    def _kill_server(self) -> None:
        self.wait_for_server()
        record = json.loads((self._server.home / "server.json").read_text())
        os.killpg(record["pid"], signal.SIGKILL)

        def start() -> None:
            self._server.stop()
            self._server.start()

        self._starting = Thread(target=start)
        self._starting.start()
