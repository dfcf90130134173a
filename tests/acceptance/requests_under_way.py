"""Requests that real flow runs carry, and what becomes of them, seen from outside.

One installation serves many tests: every request has a ticket, customers and mailboxes
of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from email import message_from_bytes, policy
from functools import cached_property
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyotp
from prefect.settings import PREFECT_API_URL, temporary_settings
from pydantic import SecretStr

from blocks import packets
from blocks.ledger import audit, items, people, schema, sessions
from blocks.ledger.database import open_ledger, utc_now
from blocks.ledger.items import Item, Version
from blocks.ledger.sessions import Session
from blocks.settings import Settings
from channels.local_server import LocalServer
from channels.service import Service
from policies.errors import NotFound
from policies.value import Json
from tasks.services import Services
from tests.acceptance.eventually import eventually
from tests.acceptance.prefect_form import Form, PrefectRun
from tests.smtp_server import Received, RecordingServer
from tests.world import SECRET_KEY, SEND, VAULT

ROOT = Path(__file__).parents[2]
MESSAGE = "Hello,\n\nwhere is my order 00048213?\n\nBest wishes\nAda"


@dataclass(kw_only=True)
class Person:
    """A reviewer with what only they know."""

    id: str
    token: str
    seed: str
    last_step: int = 0

    def code(self) -> str:
        """A one-time code that was not used before; a third one has to be waited for."""
        self.last_step = max(self.last_step + 1, people.step_at(utc_now()))
        # The code of the next step is taken as well, a later one is not.
        eventually(lambda: self.last_step <= people.step_at(utc_now()) + 1)
        return pyotp.TOTP(self.seed).generate_otp(self.last_step)

    def wrong_code(self) -> str:
        """Six digits that are not theirs for some minutes."""
        now = people.step_at(utc_now())
        clock = pyotp.TOTP(self.seed)
        right = {clock.generate_otp(now + step) for step in range(-2, 20)}
        return next(c for c in ("100000", "200000", *map(str, range(300_000, 300_099))) if c not in right)


class Office:
    """An installation with a ledger of its own and a process that carries requests."""

    def __init__(
        self, folder: Path, server: LocalServer, mail: RecordingServer
    ) -> None:
        self.server = server
        self.mail = mail
        self.log = folder / "requests.log"
        self._environment = _environment(folder, server, mail)
        self._numbers = count(1)
        key = SecretStr(SECRET_KEY)
        self.services = Services(Settings(home=folder, secret_key=key))
        self.services.vault = VAULT
        self.service = Service(self.services)

    def __enter__(self) -> Self:
        schema.upgrade(open_ledger(self.services.settings.database_url))
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.acceptance.request_runner"],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self.services.ledger.engine.dispose()

    def reviewer(self) -> Person:
        """Another reviewer."""
        name = f"reviewer-{next(self._numbers)}"
        with self.services.ledger.write() as tx:
            _, told = people.add(
                tx,
                VAULT,
                reviewer=name,
                tenant="main",
                role="reviewer",
                permissions=(SEND,),
                actor="tests",
            )
        return Person(id=name, token=told.token, seed=told.seed)

    def start(
        self,
        *,
        names: tuple[str, ...] = ("Ada Lindqvist",),
        message: str = MESSAGE,
        subject: str = "Where is my order?",
        suggested_reply: str = "",
    ) -> UnderWay:
        """A request to answer a new ticket, to a new customer for each name."""
        number = next(self._numbers)
        customers: list[dict[str, Json]] = [
            {"id": f"C-{number}-{n}", "name": name, "email": f"c{number}-{n}@mail.test"}
            for n, name in enumerate(names, start=1)
        ]
        ticket: dict[str, Json] = {
            "id": f"T-{number}",
            "customer": customers[0]["id"],
            "sender": customers[0]["email"],
            "subject": subject,
            "message": message,
            "suggested_reply": suggested_reply,
        }
        records: Json = {"customers": [*customers], "tickets": [ticket]}
        self.service.load_records("support_email", records, "tests")
        recipients = [row["id"] for row in customers]
        request = {"ticket_id": ticket["id"], "recipients": recipients}
        self._tell(f"request-{number}", request)
        addresses = frozenset(str(row["email"]) for row in customers)
        return UnderWay(self, f"request-{number}", addresses)

    def let_go(self, request_id: str) -> None:
        """Have the process stop carrying a request."""
        self._tell(request_id)

    def check(self) -> None:
        """Fail with what the process said, if it has ended."""
        assert self._process.poll() is None, self.log.read_text()

    def _tell(self, *line: Json) -> None:
        assert self._process.stdin is not None
        print(json.dumps(line), file=self._process.stdin, flush=True)


class UnderWay:
    """One request that is being carried."""

    def __init__(self, office: Office, request_id: str, addresses: frozenset[str]) -> None:
        self.office = office
        self.id = request_id
        self.workflow = sessions.workflow_id(request_id)
        self._addresses = addresses
        self._last: Form | None = None

    @cached_property
    def run(self) -> PrefectRun:
        """Its flow run, once it is there."""
        session = eventually(self._session)
        assert session.flow_run_id is not None
        return PrefectRun(self.office.server.api_url, session.flow_run_id)

    def form(self) -> Form:
        """The next form that was not seen yet, once it is shown."""
        last = self._last
        self._last = self.run.form() if last is None else self.run.next_form(last)
        return self._last

    def ended(self) -> str:
        """How the request ended, once it has and Prefect knows."""
        self.run.wait_for("Completed", "Executed", "Rejected", "Cancelled")
        session = self._session()
        assert session is not None
        return session.status

    @property
    def mails(self) -> list[dict[str, str]]:
        """What its customers have received, in the fields of what was approved."""
        received = self.office.mail.received
        return [_read(m) for m in received if set(m.recipients) & self._addresses]

    def items(self) -> tuple[Item, ...]:
        """Its items as they stand."""
        with self.office.services.ledger.read() as tx:
            return items.of_workflow(tx, self.workflow)

    def payload(self, version: int = 1, item: int = 0) -> dict[str, Json]:
        """The payload of a version, as it is stored."""
        with self.office.services.ledger.read() as tx:
            found = items.version_of(tx, self.items()[item].id, version)
        return packets.payload_of(self.office.services.artifacts, found)
