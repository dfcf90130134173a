"""A whole installation in a folder: what is done to it goes through its command.

Its ledger is read directly, and every process of it ends with the test.
"""

from __future__ import annotations

import json
import os
from email import message_from_bytes
from email.header import decode_header, make_header
from itertools import count
from pathlib import Path
from typing import NamedTuple, Self

import pyotp

from blocks.ledger import audit, items, people, sessions, versions
from blocks.ledger.items import Item
from blocks.ledger.sessions import Session
from blocks.ledger.versions import Version
from blocks.settings import load_settings
from blocks.vault import new_key
from channels.child import Child
from policies.errors import NotFound
from policies.plan import VerdictWord
from policies.policy import Role
from policies.value import Json
from tasks.services import Services
from tests.acceptance.command_line import Answer, clean, environment, run_command
from tests.acceptance.eventually import eventually
from tests.acceptance.prefect_form import Form, PatientClient, PrefectRun
from tests.acceptance.processes import Process, end_all_with
from tests.smtp_server import Received, RecordingServer

SEND = "support_email.send"


class Person(NamedTuple):
    """A reviewer with what only they know."""

    id: str
    token: str
    seed: str

    @property
    def code(self) -> str:
        """What their authenticator shows now; it works once."""
        return pyotp.TOTP(self.seed).now()


class Mail(NamedTuple):
    """A mail as the SMTP server got it."""

    recipient: str
    message_id: str
    subject: str
    body: bytes


class Installation:
    """One ledger, one artifact store, one mail server, one Prefect server.

    `settings` are `PLACET_…` by the rest of their names. The database is migrated.
    """

    def __init__(
        self, folder: Path, api_url: str, smtp: RecordingServer, **settings: str
    ) -> None:
        self.folder = folder
        self.api = PatientClient(
            base_url=api_url,
            trust_env=False,
            timeout=30,
            # Loading all certificates takes longer than most tests of a command.
            verify=False,
        )
        self.smtp = smtp
        self.env = _environment(folder, api_url, smtp.port, settings)
        with environment(self.env):
            self.services = Services(load_settings())
        self._numbers = count(1)
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """End every process of this installation, and let go of the ledger."""
        end_all_with(f"PLACET_HOME={self.folder}")
        for child in self._children:
            child.stop()
        self.api.close()
        # Not opened only to be let go of: it may be gone by now.
        if "ledger" in vars(self.services):
            self.services.ledger.engine.dispose()

    # People and records

    def add_reviewer(self, reviewer: str = "", role: Role = "reviewer") -> Person:
        """A new reviewer who may let mails be sent; without a name, any."""
        name = reviewer or f"reviewer-{next(self._numbers)}"
        with self.services.ledger.write() as tx:
            _, told = people.add(
                tx,
                self.services.vault,
                reviewer=name,
                tenant="main",
                role=role,
                permissions=(SEND,),
                actor="tests",
            )
        return Person(id=name, token=told.token, seed=told.seed)

    def add_ticket(self, ticket: str, **fields: Json) -> None:
        """A ticket of a customer of its own, TICKET@example.com."""
        customer: dict[str, Json] = {
            "id": f"customer-{ticket}",
            "name": "Grace Hopper",
            "email": f"{ticket}@example.com",
        }
        row: dict[str, Json] = {
            "id": ticket,
            "customer": customer["id"],
            "sender": customer["email"],
            "subject": "Where is my parcel?",
            "message": "Please track order 100234 for me.",
        }
        self.load(customers=[customer], tickets=[{**row, **fields}])

    def load(self, **records: list[dict[str, Json]]) -> None:
        """Put customers and tickets into the domain's tables."""
        store = self.services.domains["support_email"].store
        plain: dict[str, Json] = json.loads(json.dumps(records))
        with self.services.ledger.write() as tx:
            store.load_records(tx, plain)

    # Commands and processes

    def command(self, *tokens: str, by: Person | None = None) -> Answer:
        """Run the command in this process."""
        proof = {} if by is None else {"PLACET_TOKEN": by.token}
        return run_command(tokens, {**self.env, **proof})

    def start(self, *tokens: str) -> Process:
        """Run the command in a process of its own."""
        return self.start_module("channels", *tokens)

    def start_module(
        self, module: str, *tokens: str, name: str = "", **env: str
    ) -> Process:
        """Run a module in a process of its own, away from the project's folder."""
        log = self.folder / f"{name or module}-{next(self._numbers)}.log"
        ours = {**self.env, **env}
        child = Child(module, tokens, log=log, cwd=self.folder, env=ours)
        self._children.append(child)
        return Process(child, log)

    def write_request(self, ticket: str, **fields: Json) -> str:
        """A file with the request to answer a ticket; its path."""
        path = self.folder / f"request-{next(self._numbers)}.json"
        path.write_text(json.dumps({"ticket_id": ticket, **fields}))
        return str(path)

    def start_local(self, request_id: str, ticket: str, **fields: Json) -> Process:
        """`placet submit --local`, which carries the request in its own process."""
        file = self.write_request(ticket, **fields)
        named = ("--request-id", request_id)
        return self.start("submit", "support_email", file, *named, "--local")

    def submit(self, ticket: str, request_id: str) -> tuple[str, str]:
        """`placet submit` through the deployment: workflow and flow run."""
        file = self.write_request(ticket)
        named = ("--request-id", request_id)
        answer = self.command("submit", "support_email", file, *named, "--json")
        assert answer.code == 0, answer.err
        said = answer.document
        return str(said["workflow_id"]), str(said["flow_run_id"])

    # Looking

    def session(self, workflow: str) -> Session:
        """A session as it stands."""
        with self.services.ledger.read() as tx:
            return sessions.load(tx, workflow)

    def items(self, workflow: str) -> tuple[Item, ...]:
        """A request's items as they stand."""
        with self.services.ledger.read() as tx:
            return items.of_workflow(tx, workflow)

    def item(self, workflow: str) -> Item:
        """Its first item."""
        return self.items(workflow)[0]

    def version(self, item: Item) -> Version:
        """The present version of an item."""
        with self.services.ledger.read() as tx:
            return versions.load(tx, item.id, item.version)

    def told(self, workflow: str, event: str) -> list[dict[str, Json]]:
        """The facts of every event of that name."""
        with self.services.ledger.read() as tx:
            return [e.facts for e in audit.events(tx, workflow) if e.event == event]

    def mails(self, ticket: str) -> list[Mail]:
        """What the SMTP server took for a ticket's customer."""
        to = f"{ticket}@example.com"
        return [mail for mail in self.all_mails() if mail.recipient == to]

    def all_mails(self) -> list[Mail]:
        """Everything that the SMTP server took, in order."""
        return [_mail(received) for received in self.smtp.received]

    # Waiting

    def run_of(self, workflow: str) -> PrefectRun:
        """The flow run that carries a request now."""
        found = self.session(workflow).flow_run_id
        assert found is not None
        return PrefectRun(self.api, found)

    def wait_until_asked(self, workflow: str) -> Form:
        """The form of a request, once it waits for a person."""
        eventually(lambda: self._pending(workflow))
        return self.run_of(workflow).form()

    def wait_until_closed(self, workflow: str) -> str:
        """A request's status, once it has ended."""

        def closed() -> str | None:
            session = self.session(workflow)
            return None if session.is_open else session.status

        return eventually(closed)

    def holder(self, workflow: str) -> int | None:
        """The process id of who holds the session's lease."""
        owner = self.session(workflow).lease_owner
        return None if owner is None else int(owner.rpartition(":")[2])

    def lease_is_over(self, workflow: str) -> bool:
        """Whether anybody may take the session."""
        until = self.session(workflow).lease_until
        return until is None or until < self.services.clock()

    # Deciding

    def decide(self, item: Item, word: VerdictWord, by: Person, *more: str) -> Answer:
        """`placet decide` on an item as it is now."""
        seen = self.version(item)
        return self.command(
            *("decide", item.id, word, "--as", by.id, *more),
            *("--version", str(seen.version), "--snapshot", seen.snapshot.digest),
            by=by,
        )

    def fill_in(self, form: Form, word: str, by: Person, **more: str) -> dict[str, str]:
        """What a person sends with a form: one verdict on everything, and a code."""
        return {**form.choose(word), "reviewer": by.id, "code": by.code, **more}

    def _pending(self, workflow: str) -> bool:
        try:
            return self.session(workflow).pending is not None
        except NotFound:
            return False


def _environment(
    folder: Path, api_url: str, mail_port: int, settings: dict[str, str]
) -> dict[str, str]:
    given = {
        "home": str(folder),
        "secret_key": new_key(),
        "environment": "test",
        "lease_seconds": "3",
        "poll_seconds": "0.2",
        "mail__host": "127.0.0.1",
        "mail__port": str(mail_port),
        "mail__security": "none",
        "mail__sender": "desk@placet.test",
        "mail__message_id_domain": "placet.test",
        **settings,
    }
    ours = {f"PLACET_{name.upper()}": text for name, text in given.items()}
    prefect = {
        "PREFECT_API_URL": api_url,
        "PREFECT_HOME": str(folder / "prefect-client"),
        "DO_NOT_TRACK": "1",
    }
    return {**clean(os.environ), **ours, **prefect}


def _mail(received: Received) -> Mail:
    parsed = message_from_bytes(received.content)
    body = parsed.get_payload(decode=True)
    assert isinstance(body, bytes)
    return Mail(
        recipient=received.recipients[0],
        message_id=str(parsed["Message-ID"]),
        subject=str(make_header(decode_header(str(parsed["Subject"])))),
        body=body,
    )
