"""Many requests of one installation, carried by one process.

Each request has a ticket, customers and mailboxes of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cached_property
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from blocks import packets
from blocks.ledger import sessions, versions
from blocks.ledger.items import Item
from policies.errors import NotFound
from policies.value import Json
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation
from tests.acceptance.prefect_form import Form, PrefectRun
from tests.smtp_server import Received

ROOT = Path(__file__).parents[2]
MESSAGE = "Hello,\n\nwhere is my order 00048213?\n\nBest wishes\nAda"


class Carrier:
    """The process that carries the requests; it ends with the block."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.log = installation.folder / "requests.log"
        self._numbers = count(1)

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.acceptance.request_runner"],
                cwd=ROOT,
                env=self.installation.env,
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

    def start(
        self,
        *names: str,
        subject: str = "Where is my order?",
        message: str = MESSAGE,
        suggested_reply: str = "",
    ) -> UnderWay:
        """A request to answer a new ticket, to a new customer for each name."""
        number = next(self._numbers)
        customers: list[dict[str, Json]] = [
            {"id": f"C-{number}-{n}", "name": name, "email": f"c{number}-{n}@mail.test"}
            for n, name in enumerate(names or ("Ada Lindqvist",), start=1)
        ]
        ticket: dict[str, Json] = {
            "id": f"T-{number}",
            "customer": customers[0]["id"],
            "sender": customers[0]["email"],
            "subject": subject,
            "message": message,
            "suggested_reply": suggested_reply,
        }
        self.installation.load(customers=customers, tickets=[ticket])
        ids = [customer["id"] for customer in customers]
        self._tell(f"request-{number}", {"ticket_id": ticket["id"], "recipients": ids})
        addresses = frozenset(str(customer["email"]) for customer in customers)
        return UnderWay(self, f"request-{number}", addresses)

    def let_go(self, request_id: str) -> None:
        """Stop carrying a request."""
        self._tell(request_id)

    def check_alive(self) -> None:
        """Fail with what the process said, if it has ended."""
        assert self._process.poll() is None, self.log.read_text()

    def _tell(self, *line: Json) -> None:
        assert self._process.stdin is not None
        print(json.dumps(line), file=self._process.stdin, flush=True)


class UnderWay:
    """One request that is being carried."""

    def __init__(
        self, carrier: Carrier, request_id: str, addresses: frozenset[str]
    ) -> None:
        self.id = request_id
        self.workflow = sessions.workflow_id(request_id)
        self._carrier = carrier
        self._installation = carrier.installation
        self._addresses = addresses
        self._last: Form | None = None

    @cached_property
    def run(self) -> PrefectRun:
        """Its flow run, once it is there."""
        eventually(self._is_there)
        return self._installation.run_of(self.workflow)

    def form(self) -> Form:
        """The next form that was not seen yet, once it is shown."""
        last = self._last
        self._last = self.run.form() if last is None else self.run.next_form(last)
        return self._last

    def ended(self) -> str:
        """How it has ended, once Prefect knows it too."""
        eventually(lambda: self.run.state_type() in ("COMPLETED", "FAILED", "CRASHED"))
        return self._installation.session(self.workflow).status

    @property
    def items(self) -> tuple[Item, ...]:
        """Its items as they stand."""
        return self._installation.items(self.workflow)

    @property
    def mails(self) -> list[dict[str, str]]:
        """What its customers have received."""
        received = self._installation.smtp.received
        return [_read(m) for m in received if self._addresses & set(m.recipients)]

    def mail_of(self, version: int = 1, item: int = 0) -> dict[str, str]:
        """The mail that a version of an item stands for, as it is stored."""
        services = self._installation.services
        with services.ledger.read() as tx:
            found = versions.load(tx, self.items[item].id, version)
        payload = packets.payload_of(services.artifacts, found)
        names = ("sender", "recipient", "subject", "body")
        return {name: str(payload[name]) for name in names}

    def told(self, event: str) -> list[dict[str, Json]]:
        """The facts of every event of that name."""
        return self._installation.told(self.workflow, event)

    def _is_there(self) -> bool:
        self._carrier.check_alive()
        try:
            return self._installation.session(self.workflow).flow_run_id is not None
        except NotFound:
            return False


def _read(mail: Received) -> dict[str, str]:
    """A mail as its customer's program reads it, in the payload's fields."""
    read = message_from_bytes(mail.content, EmailMessage, policy=policy.default)
    content = read.get_payload(decode=True)
    assert isinstance(content, bytes)
    assert [read["From"], read["To"]] == [mail.sender, *mail.recipients]
    return {
        "sender": mail.sender,
        "recipient": str(read["To"]),
        "subject": str(read["Subject"]),
        "body": content.decode().replace("\r\n", "\n"),
    }
