"""What the demo keeps in its folder: key, ledger, reviewer, tickets, open request."""

import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from blocks import private
from blocks.ledger import people, schema, sessions
from blocks.ledger.database import open_ledger
from blocks.ledger.people import TokenProof
from blocks.settings import Settings, load_settings
from blocks.support_email.examples import load_examples
from blocks.vault import new_key
from channels.commands.common import read_json_file
from channels.service import Service
from policies.access import Denied
from policies.errors import (
    Conflict,
    InvalidInput,
    Misconfigured,
    NotFound,
    PlacetError,
    Refused,
)
from policies.value import Json, Value
from tasks.services import Services

DOMAIN = "support_email"
TENANT = "main"
AGENT = "demo-agent"
REVIEWER = "demo-reviewer"
_ACTOR = "placet demo"
_IDENTITY = "demo-reviewer.json"
_STATE = "demo.json"
_SHAPE = (
    'Its shape: {"customers": [{"id", "name", "email"}], '
    '"tickets": [{"id", "customer", "sender", "subject", "message"}]}.'
)


class Identity(Value):
    """The demo's reviewer, with what only a reviewer knows."""

    reviewer: str = REVIEWER
    token: str
    seed: str

    @property
    def proof(self) -> TokenProof:
        """What proves it in the terminal."""
        return TokenProof(token=self.token)


class Asked(Value):
    """The request that the demo works on; `turn` counts the bundled tickets."""

    request_id: str
    ticket: str
    turn: int

    @property
    def workflow(self) -> str:
        """The id of its session."""
        return sessions.workflow_id(self.request_id)


class DemoHome:
    """The demo's folder and the installation in it."""

    def __init__(self, settings: Settings) -> None:
        _check_harmless(settings)
        self.folder = settings.home
        self.service = Service(Services(settings))
        self._examples = load_examples()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other demos out of this folder meanwhile."""
        self._make_folder()
        with (self.folder / "demo.lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise Conflict(
                    f"A demo is running already in {self.folder}.",
                    code="demo_running",
                    hint="Stop it with Ctrl-C, or give this one another PLACET_HOME.",
                ) from error
            yield

    def prepare(self) -> Identity:
        """Make what is missing; what is there stays as it is."""
        settings = self._with_key()
        schema.upgrade(open_ledger(settings.database_url))
        self.service = Service(Services(settings))
        self.service.load_records(DOMAIN, self._examples, _ACTOR)
        return self._identity()

    def asked(self, file: Path | None, *, first: bool) -> tuple[Asked, bool]:
        """The request to work on, and whether it is an earlier demo's that is open.

        `first` takes the first bundled ticket, otherwise they come in turn.
        """
        ticket, before = file and self._load(file), self._state()
        if before and ticket in (None, before.ticket) and self._is_open(before):
            return before, True
        last = before.turn if before else 0
        turn = last if ticket else 1 if first else last % self.bundled + 1
        asked = Asked(
            request_id=f"demo-{uuid.uuid4().hex[:12]}",
            ticket=ticket or self._names[turn - 1],
            turn=turn,
        )
        self._write(_STATE, asked.model_dump_json())
        return asked, False

    def request(self, asked: Asked) -> dict[str, Json]:
        """What the domain is asked for."""
        return {"ticket_id": asked.ticket, "tenant": TENANT, "requested_by": AGENT}

    def request_file(self, asked: Asked) -> Path:
        """The request as a file for `placet submit`."""
        return self._write("demo-request.json", json.dumps(self.request(asked)))

    @property
    def bundled(self) -> int:
        """How many tickets come with Placet."""
        return len(self._names)

    @property
    def _names(self) -> list[str]:
        return [str(row["id"]) for row in _tickets(self._examples)]

    def _load(self, file: Path) -> str:
        """Put the one ticket of a file, and customers if any, into the tables."""
        records = read_json_file(file)
        tickets = _tickets(records) if isinstance(records, dict) else []
        if len(tickets) != 1 or tickets[0].get("tenant", TENANT) != TENANT:
            raise InvalidInput(
                f"{file} must hold exactly one ticket, of the tenant {TENANT}.",
                code="invalid_records",
                hint=_SHAPE,
            )
        try:
            self.service.load_records(DOMAIN, records, _ACTOR)
        except (Conflict, InvalidInput) as error:
            taken = isinstance(error, Conflict)
            raise type(error)(
                f"{file}: {error.message}",
                code=error.code,
                hint="Give the ticket an id of its own."
                if taken
                else error.hint or _SHAPE,
            ) from error
        return str(tickets[0]["id"])

    def _identity(self) -> Identity:
        """The reviewer of earlier demos while the ledger still knows the token."""
        services, kept = self.service.services, self._kept_identity()
        with services.ledger.write() as tx:
            known = people.find(tx, REVIEWER) is not None
            token = TokenProof(token=kept.token if kept else "")
            who = people.prove(tx, services.vault, REVIEWER, token)
            if isinstance(who, Denied) and who.code == "revoked":
                raise Refused(f"{who.message}.", code=who.code)
            if known and kept is not None and not isinstance(who, Denied):
                return kept
            if known:
                made = people.rotate(
                    tx, services.vault, reviewer=REVIEWER, actor=_ACTOR
                )
            else:
                made = self._add(tx)
        identity = Identity(token=made.token, seed=made.seed)
        self._write(_IDENTITY, identity.model_dump_json())
        return identity

    def _add(self, tx: Any) -> people.Secrets:
        tools = self.service.services.domains[DOMAIN].adapter.tools.values()
        _, made = people.add(
            tx,
            self.service.services.vault,
            reviewer=REVIEWER,
            tenant=TENANT,
            # High risk needs an owner, and some of the tickets are of high risk.
            role="owner",
            permissions=tuple(sorted({tool.permission for tool in tools})),
            actor=_ACTOR,
        )
        return made

    def _with_key(self) -> Settings:
        settings = self.service.services.settings
        if settings.secret_key is not None:
            return settings
        self._write(settings.secret_key_file.name, new_key() + "\n")
        return load_settings()

    def _kept_identity(self) -> Identity | None:
        try:
            return Identity.model_validate_json((self.folder / _IDENTITY).read_bytes())
        except (OSError, ValidationError):
            return None

    def _state(self) -> Asked | None:
        try:
            return Asked.model_validate_json((self.folder / _STATE).read_bytes())
        except (OSError, ValidationError):
            return None

    def _is_open(self, asked: Asked) -> bool:
        try:
            with self.service.services.ledger.read() as tx:
                return sessions.load(tx, asked.workflow).is_open
        except NotFound:
            return False

    def _make_folder(self) -> None:
        try:
            private.make_folder(self.folder)
        except OSError as error:
            raise _unusable(self.folder, error) from error

    def _write(self, name: str, text: str) -> Path:
        """Write a file that only its owner may read; whole or not at all."""
        path, draft = self.folder / name, self.folder / f"{name}.new"
        try:
            draft.unlink(missing_ok=True)
            with open(draft, "x", opener=_private, encoding="utf-8") as file:
                file.write(text)
            draft.replace(path)
        except OSError as error:
            raise _unusable(self.folder, error) from error
        return path


def _check_harmless(settings: Settings) -> None:
    """The demo adds a reviewer with a known token and sends mail: only to itself."""
    if settings.environment != "dev":
        raise Refused(
            f"The demo is not for the environment {settings.environment!r}.",
            code="not_for_this_environment",
            hint="It adds a reviewer of its own: run it where PLACET_ENVIRONMENT=dev.",
        )
    for name in ("mail_block", "ledger_block"):
        if getattr(settings, name) is not None:
            raise Misconfigured(
                f"PLACET_{name.upper()} is set.",
                hint="The demo uses its own mail server and ledger: unset it.",
            )


def _tickets(records: dict[str, Json]) -> list[dict[str, Json]]:
    rows = records.get("tickets")
    return [r for r in rows if isinstance(r, dict)] if isinstance(rows, list) else []


def _unusable(folder: Path, error: OSError) -> PlacetError:
    return Misconfigured(
        f"{folder} cannot be used: {error.strerror}.",
        code="home_not_usable",
        hint="Set PLACET_HOME to a folder that you may write to.",
    )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
