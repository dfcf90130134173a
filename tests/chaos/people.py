"""What people do about one request of a chaos run: decide, click again, come too late.

Every click is another person's, so that the ledger can be asked what became of it. What
somebody approves is noted as they read it, for the checks.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any, NamedTuple

import httpx

from blocks import packets
from blocks.ledger import audit, effects, items, sessions, verdicts
from blocks.ledger.items import Item
from blocks.ledger.sessions import Session
from policies.errors import NotFound
from policies.lifecycle import OPEN, State
from policies.plan import VerdictWord
from tests.acceptance.installation import Installation, Person
from tests.acceptance.prefect_form import Form, PrefectRun
from tests.chaos.plan import Act, Story

ADDED = "\n\nPS: Our desk is open until six."
_OTHER: dict[VerdictWord, VerdictWord] = {"approve": "reject", "reject": "approve"}


class Click(NamedTuple):
    """A verdict that somebody handed in, and was told that it was taken."""

    by: str
    word: VerdictWord
    version: int
    at_form: bool


# By then a worker has begun a request, or it died over it.
_PATIENCE = 60.0


class Text(NamedTuple):
    """What somebody read and agreed to: a version with its mail."""

    version: int
    recipient: str
    body: str


class Page(NamedTuple):
    """A form in a browser; its run may be dead by now."""

    run: PrefectRun
    form: Form


class Case:
    """One request under way, with the person who looks after it."""

    def __init__(self, installation: Installation, story: Story) -> None:
        self.story = story
        self.workflow = sessions.workflow_id(story.id)
        self.acts: list[Act] = list(story.acts if story.deployed else story.acts[1:])
        self.clicks: list[Click] = []
        self.stale: list[str] = []
        self.doubled = 0
        self.agreed: list[Text] = []
        self._installation = installation
        self._old_choice: dict[str, str] = {}
        self._page: Page | None = None
        self._clicked: tuple[str, int] | None = None
        self._asked_at = 0.0
        self._begun_at = 0.0

    def session(self) -> Session | None:
        """How the request stands; None before it has begun."""
        with suppress(NotFound):
            return self._installation.session(self.workflow)
        return None

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be done any more, by anybody."""
        session = self.session()
        if session is None or session.is_open or session.status == "unknown":
            return False
        return not self.acts

    def go_on(self) -> Act | None:
        """Do the next act if its time has come; which one was done."""
        if self.acts[:1] == ["submit"]:
            return self.acts.pop(0) if self._submit() else None
        found = self._installation.items(self.workflow) if self.session() else ()
        if not self.acts or not found:
            return None
        act, item = self.acts[0], found[0]
        if not self._do(act, item):
            return None
        return self.acts.pop(0)

    @property
    def is_unknown(self) -> bool:
        """Whether it has ended because nobody could tell whether a mail went out."""
        session = self.session()
        return session is not None and session.status == "unknown"

    def begin_again(self) -> bool:
        """Put a request back to work that has not begun for long; whether it was."""
        waits = self.story.deployed and self.acts[:1] != ["submit"]
        if not waits or self.session() is not None:
            return False
        if time.monotonic() - self._begun_at < _PATIENCE:
            return False
        self._begun_at = time.monotonic()
        return self._installation.command("resume", self.workflow).code == 0

    def resolve(self) -> bool:
        """Settle an unknown outcome by what the mail server got; whether it was."""
        happened = bool(self._installation.mails(self.story.id))
        someone = self._installation.add_reviewer()
        said = self._installation.command(
            *("resolve", self.workflow, "happened" if happened else "not-happened"),
            *("--as", someone.id, "--reason", "by the mail server's own record"),
            by=someone,
        )
        return said.code == 0

    def where(self) -> str:
        """Where the request stands, as `placet status` tells it."""
        said = self._installation.command("status", self.workflow)
        return " ".join((said.out or said.err).split())

    def reason(self, item: str) -> str:
        """What the ledger says of how an item's execution ended."""
        with self._installation.services.ledger.read() as tx:
            found = effects.results_of(tx, item)
        return str(found[-1]["detail"]) if found else ""

    def verdicts(self) -> list[dict[str, Any]]:
        """Every verdict on record."""
        with self._installation.services.ledger.read() as tx:
            found = items.of_workflow(tx, self.workflow)
            return [row for item in found for row in verdicts.of_item(tx, item.id)]

    def actors(self) -> set[str]:
        """Everybody whom the trail names, with what was taken and what was refused."""
        with self._installation.services.ledger.read() as tx:
            told = [event.facts for event in audit.events(tx, self.workflow)]
        names = ("actor", "reviewer")
        return {str(facts.get(name)) for facts in told for name in names}

    def _do(self, act: Act, item: Item) -> bool:
        """Whether the act is done, or can't be any more."""
        waits = item.state == State.WAITING_FOR_REVIEW
        match act:
            case "edit":
                return item.version > 1 or (waits and self._edit(item))
            case "old version":
                return not waits or self._come_late(item, "approve")
            case "verdict":
                if waits and self._is_patient():
                    return False
                return item.state not in OPEN or (waits and self._decide(item))
            case "late":
                return self._come_late(item, _OTHER[self._word])
            case _:
                raise AssertionError(act)

    def _submit(self) -> bool:
        """Start it through its deployment; the same id again is the same request."""
        file = self._installation.write_request(self.story.id)
        named = ("--request-id", self.story.id)
        said = self._installation.command("submit", "support_email", file, *named)
        self._begun_at = time.monotonic()
        return said.code == 0

    def _is_patient(self) -> bool:
        """Whether it is to lie a while yet; the page is opened at once."""
        now = time.monotonic()
        self._asked_at = self._asked_at or now
        if self.story.at_form and self._page is None and self._clicked is None:
            self._page = self._open_page()
        return now - self._asked_at < self.story.patience

    @property
    def _word(self) -> VerdictWord:
        return "reject" if self.story.ending == "reject" else "approve"

    def _edit(self, item: Item) -> bool:
        """Change the draft, at the desk; its old choice on the form is remembered."""
        page = self._open_page()
        self._old_choice = page.form.choose("approve") if page else {}
        file = self._installation.folder / f"{self.story.id}.json"
        file.write_text(json.dumps({"body": self._read(item).body + ADDED}))
        someone = self._installation.add_reviewer()
        said = self._installation.decide(item, "edit", someone, "--edit", str(file))
        return said.code == 0

    def _decide(self, item: Item) -> bool:
        """Click; done is it only when the item has left the desk."""
        someone = self._installation.add_reviewer()
        if self._word == "approve":
            self.agreed.append(self._read(item))
        if self.story.at_form:
            self._click(item, someone)
        else:
            self._at_desk(item, someone)
        return False

    def _at_desk(self, item: Item, by: Person) -> None:
        times = 2 if self.story.clicks_twice else 1
        for number in range(times):
            said = self._installation.decide(
                item, self._word, by, "--reason", "as the story goes"
            )
            if number == 1:
                self.doubled += 1
            elif said.code == 0:
                self._note(by, item, at_form=False)

    def _click(self, item: Item, by: Person) -> None:
        """Send the page that is open; where it is too old, open another one."""
        page = self._page or self._open_page()
        self._page = None
        if page is None or self._clicked == (page.form.key, item.version):
            # Nothing to click on, or a click that nobody has read yet.
            return
        more = {"reason": "as the story goes"}
        answer = self._installation.fill_in(page.form, self._word, by, **more)
        if f" v{item.version} " not in " ".join(answer.values()):
            return
        if self._send(page, answer):
            self._clicked = (page.form.key, item.version)
            self._note(by, item, at_form=True)
        if self.story.clicks_twice:
            self.doubled += 1
            self._send(page, answer)

    def _come_late(self, item: Item, word: VerdictWord) -> bool:
        """Hand in a verdict on the first version, which is not asked for any more."""
        someone = self._installation.add_reviewer()
        self.stale.append(someone.id)
        page = self._open_page() if self.story.at_form else None
        if page is not None and self._old_choice:
            proof = {"reviewer": someone.id, "code": someone.code}
            self._send(page, {**self._old_choice, **proof})
        first = self._installation.version(item.model_copy(update={"version": 1}))
        self._installation.command(
            *("decide", item.id, word, "--as", someone.id, "--reason", "too late"),
            *("--version", "1", "--snapshot", first.snapshot.digest),
            by=someone,
        )
        return True

    def _note(self, by: Person, item: Item, *, at_form: bool) -> None:
        self.clicks.append(Click(by.id, self._word, item.version, at_form))

    def _open_page(self) -> Page | None:
        """The form of the run that carries the request now, if it shows one."""
        with suppress(httpx.HTTPError, AssertionError):
            run = self._installation.run_of(self.workflow)
            return Page(run, run.form(within=0))
        return None

    def _send(self, page: Page, answer: dict[str, str]) -> bool:
        """Whether Prefect took it; it refuses what is not on its form any more."""
        with suppress(httpx.HTTPError, AssertionError):
            return page.run.resume(answer).status == "ACCEPT"
        return False

    def _read(self, item: Item) -> Text:
        version = self._installation.version(item)
        artifacts = self._installation.services.artifacts
        payload = packets.payload_of(artifacts, version)
        return Text(item.version, str(payload["recipient"]), str(payload["body"]))
