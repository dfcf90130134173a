"""The demo's request, carried by a process of its own, and waiting for what it does."""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from blocks.ledger import items, questions, rounds, sessions
from blocks.ledger.items import Item
from blocks.ledger.sessions import Session
from blocks.settings import Settings
from channels.child import Child
from channels.demo_home import DOMAIN, Asked, DemoHome
from policies import lifecycle
from policies.errors import NotFound, Unavailable
from policies.interaction import Interaction
from policies.value import Value

SENDER = "support@placet.example"
_LOOK_EVERY = 0.1
_TAIL = 12


class Scene(Value):
    """What the request waits for now."""

    session: Session
    pause: str
    """The key of the form that is shown."""
    items: tuple[Item, ...]
    questions: tuple[Interaction, ...]

    @property
    def interrupt(self) -> str:
        """The key of the round that is asked."""
        return self.session.pending.interrupt if self.session.pending else ""

    @property
    def notice(self) -> str:
        """Why the last answer to the form was not accepted."""
        return self.session.pending.notice if self.session.pending else ""


class DemoRun:
    """The process that carries the request; it ends with the block."""

    def __init__(
        self, home: DemoHome, asked: Asked, api_url: str, mail_port: int
    ) -> None:
        self.workflow = asked.workflow
        self.log = home.folder / "demo-run.log"
        self._ledger = home.service.services.ledger
        file = home.request_file(asked)
        self._child = Child(
            "channels",
            [
                *("submit", DOMAIN, str(file), "--local"),
                *("--request-id", asked.request_id),
            ],
            log=self.log,
            cwd=Path.cwd(),
            env=_environment(home.service.services.settings, api_url, mail_port),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._child.stop()

    def session(self) -> Session | None:
        """The request's session, None until there is one."""
        try:
            with self._ledger.read() as tx:
                return sessions.load(tx, self.workflow)
        except NotFound:
            return None

    def scene(self) -> Scene | None:
        """What our process waits for, or None while it is at work."""
        with self._ledger.read() as tx:
            session = sessions.load(tx, self.workflow)
            pause = rounds.last_pause(tx, self.workflow)
            if not (session.pending and pause and self._is_ours(session)):
                return None
            if pause.flow_run_id != session.flow_run_id or pause.state != "asked":
                return None
            rows = items.of_workflow(tx, self.workflow)
            asked = questions.pending(tx, self.workflow)
        still = tuple(item for item in rows if item.state in lifecycle.OPEN)
        return Scene(session=session, pause=pause.key, items=still, questions=asked)

    def lease_left(self) -> float:
        """For how many seconds another process may still be at work on it."""
        with self._ledger.read() as tx:
            session = self.session()
            if session is None or session.lease_until is None or self._is_ours(session):
                return 0
            return (session.lease_until - tx.now).total_seconds()

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait until it is so; `Unavailable` if the process ends before."""
        while not until():
            self.check_alive()
            time.sleep(_LOOK_EVERY)

    def check_alive(self) -> None:
        """`Unavailable` where the process has ended and the request has not."""
        if self._child.ended_with is None or self.is_closed():
            return
        said = self.log.read_text(errors="replace").strip().splitlines()
        tail = "\n".join(said[-_TAIL:]) or "nothing"
        raise Unavailable(
            f"The process that carried the request has ended. It said:\n{tail}\n",
            code="run_ended",
            hint=f"All of it is in {self.log}.",
        )

    def status(self) -> str:
        """The request's status."""
        session = self.session()
        return "not begun" if session is None else session.status

    def is_closed(self) -> bool:
        """Whether the request has ended."""
        session = self.session()
        return session is not None and not session.is_open

    def is_asking(self) -> bool:
        """Whether something waits for a person."""
        if self.session() is None:
            return False
        scene = self.scene()
        return scene is not None and bool(scene.items or scene.questions)

    def _is_ours(self, session: Session) -> bool:
        return session.lease_owner == f"{socket.gethostname()}:{self._child.pid}"


def _environment(settings: Settings, api_url: str, mail_port: int) -> dict[str, str]:
    """Mail goes to the demo's own server, whatever else is configured."""
    ours = {
        "PREFECT_API_URL": api_url,
        "PLACET_HOME": str(settings.home),
        "PLACET_MAIL__HOST": "127.0.0.1",
        "PLACET_MAIL__PORT": str(mail_port),
        "PLACET_MAIL__SECURITY": "none",
        "PLACET_MAIL__USERNAME": "",
        "PLACET_MAIL__PASSWORD": "",
        "PLACET_MAIL__SENDER": SENDER,
        "PLACET_MAIL__MESSAGE_ID_DOMAIN": "placet.example",
        "DO_NOT_TRACK": "1",
    }
    # One run on a server of its own may look often, for as long as a person thinks.
    patient = {"PLACET_POLL_SECONDS": "0.5", "PLACET_HOT_PAUSE_SECONDS": "14400"}
    return {**patient, **os.environ, **ours}
