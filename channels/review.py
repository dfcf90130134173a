"""Reviewing in the terminal: what is asked is shown, and every word counts exactly.

Nothing is recorded but by the service, under the rules that hold for every way in.
"""

from collections.abc import Mapping
from typing import TypeAlias

from blocks.ledger import questions
from blocks.ledger.items import Item
from blocks.ledger.people import Proof
from blocks.ledger.verdicts import Recorded
from channels.review_progress import FOLLOW_FOR, Place, follow, place_of
from channels.review_terminal import END, Terminal
from channels.service import TERMINAL, Decided, Service, Shown
from blocks.desk import may_answer
from policies import access, canonical, lifecycle
from policies.access import Denied, Reviewer
from policies.errors import Conflict, NotFound, NotStrictJson, PlacetError, Refused
from policies.interaction import Interaction
from policies.packet import as_text
from policies.plan import ItemVerdict, PacketField, PacketItem
from policies.value import Json

Asked: TypeAlias = tuple[str, Interaction]
"""A question with the workflow that put it."""

_WORDS: Mapping[str, str] = {
    word: meaning
    for meaning in ("approve", "reject", "edit", "skip", "quit")
    for word in (meaning[0], meaning)
}
_ONLY_WORDS = (
    "Only one of these letters or its whole word counts. Enter alone is never a yes."
)
_CONFIRM_FROM = "high"


class Review:
    """One reviewer's sitting at the terminal; `recorded` is what came of it."""

    def __init__(
        self, service: Service, who: Reviewer, proof: Proof, terminal: Terminal
    ) -> None:
        self.recorded: list[Recorded] = []
        self.answered: list[str] = []
        self._service = service
        self._who = who
        self._proof = proof
        self._terminal = terminal
        self._put: set[tuple[str, str]] = set()
        self._follow_for = FOLLOW_FOR

    def everything(self) -> None:
        """All questions, then all open items in priority order, also what comes up."""
        seen: set[str] = set()
        while True:
            asked = self._questions()
            items = [i for i in self._items() if i.id not in seen]
            if not asked and not items:
                return
            for workflow, question in asked:
                self._ask_alone(workflow, question)
            for number, item in enumerate(items, start=1):
                seen.add(item.id)
                if not self._judge(item.id, f"{number} of {len(items)}"):
                    return

    def one(self, item_id: str) -> None:
        """One item, which this reviewer may look at and may decide."""
        item = self._service.show(item_id).item
        if item.tenant != self._who.tenant:
            raise NotFound(f"There is no item {item_id}.")
        if item.state not in lifecycle.OPEN:
            raise Conflict(
                f"{item_id} is {item.state}: there is nothing to decide.",
                code="already_decided",
            )
        denied = self._may(item)
        if denied is not None:
            self._terminal.show(self._service.show(item_id).packet)
            raise Refused(f"You may look at it only: {denied.message}.", code=denied.code)
        self._judge(item_id, "1 of 1")

    def _items(self) -> list[Item]:
        return [item for item in self._service.queue() if self._may(item) is None]

    def _may(self, item: Item) -> Denied | None:
        return access.may_decide(self._who, item.gate) or access.may_use(
            TERMINAL, item.gate
        )

    def _judge(self, item_id: str, progress: str) -> bool:
        """Show an item until it is decided or passed over; False to stop altogether."""
        shown: Shown | None = None
        while True:
            fresh = self._service.show(item_id)
            if fresh.item.state not in lifecycle.OPEN:
                self._terminal.say(f"It is {fresh.item.state} now{_last_word(fresh)}.")
                return True
            if shown is None or shown.item.version != fresh.item.version:
                self._show(fresh, progress)
            shown = fresh
            word = self._verdict_word(shown.packet.items[0])
            if word in ("skip", "quit"):
                self._terminal.say("Nothing was decided on this one.")
                return word == "skip"
            try:
                if self._act(word, shown):
                    return True
            except PlacetError as error:
                self._terminal.say(f"Not recorded. {error}", "yellow")

    def _show(self, shown: Shown, progress: str) -> None:
        item = shown.item
        due = f"{item.deadline:%H:%M} UTC"
        self._terminal.head(f"{progress}, {item.risk_level} risk, decide by {due}")
        self._terminal.show(shown.packet)
        for question in self._pending(item.workflow):
            self._ask(item.workflow, question)

    def _verdict_word(self, item: PacketItem) -> str:
        words = dict(_WORDS)
        prompt = f"v{item.payload.version}: [a]pprove [r]eject [e]dit [s]kip [q]uit >"
        if not any(field.editable for field in item.fields):
            prompt = prompt.replace(" [e]dit", "")
            words = {w: meaning for w, meaning in words.items() if meaning != "edit"}
        return self._terminal.choose(prompt, words, _ONLY_WORDS)

    def _act(self, word: str, shown: Shown) -> bool:
        """Do what the word says; whether this item is done with."""
        if word != "approve":
            self._check_still(shown)
        item = shown.packet.items[0]
        said = {
            "approve": self._approval,
            "reject": self._rejection,
            "edit": self._edit,
        }[word](item)
        if said is None:
            return False
        before = place_of(self._service, shown.item.workflow)
        done = self._service.decide(self._who.id, self._proof, said, TERMINAL)
        self._tell(done, before)
        return word != "edit"

    def _check_still(self, shown: Shown) -> None:
        """Say at once, and not after a long edit, that somebody else was first."""
        fresh = self._service.show(shown.item.id)
        if fresh.item.state not in lifecycle.OPEN:
            raise Conflict(
                f"It is {fresh.item.state} already{_last_word(fresh)}.",
                code="already_decided",
            )
        if fresh.item.version != shown.item.version:
            raise Refused(
                f"It was edited meanwhile: version {fresh.item.version} is asked now.",
                code="stale_version",
            )

    def _approval(self, item: PacketItem) -> ItemVerdict | None:
        if item.risk_level in ("high", "critical"):
            phrase = f"approve v{item.payload.version}"
            self._terminal.say(f"This is {item.risk_level} risk.", "bold")
            if self._terminal.ask(f"Type {phrase!r} to approve it:") != phrase:
                self._terminal.say("That is not it: nothing was decided.", "yellow")
                return None
        return _verdict(item, "approve")

    def _rejection(self, item: PacketItem) -> ItemVerdict | None:
        reason = ""
        while not reason:
            reason = self._terminal.ask(f"Why? A reason is required; {END} goes back:")
        return None if reason == END else _verdict(item, "reject", reason=reason)

    def _edit(self, item: PacketItem) -> ItemVerdict | None:
        changes: dict[str, Json] = {}
        for field in (field for field in item.fields if field.editable):
            value = self._edited(field)
            if value != field.value:
                changes[field.name] = value
        if not changes:
            self._terminal.say("Nothing was changed.")
            return None
        return _verdict(item, "edit", edit=changes)

    def _edited(self, field: PacketField) -> Json:
        text = as_text(field)
        long = field.multiline or "\n" in text
        changed = self._terminal.edit(field.name, text, multiline=long)
        if isinstance(field.value, str) or changed == text:
            return changed if isinstance(field.value, str) else field.value
        return canonical.read_json(changed.encode())

    def _tell(self, done: Decided, before: Place) -> None:
        self.recorded += done.taken.recorded
        self.answered += done.taken.answered
        for recorded in done.taken.recorded:
            self._terminal.say(f"Recorded: {recorded.verdict}.", "green")
            if recorded.verdict == "edited":
                return
        follow(self._service, before, done.run, self._terminal, self._follow_for)

    def _questions(self) -> list[Asked]:
        """What waits for an answer and stands in no form with an item of ours."""
        if may_answer(self._who, self._who.tenant) is not None:
            return []
        with self._service.services.ledger.read() as tx:
            waiting = questions.of_tenant(tx, self._who.tenant)
        with_items = {item.workflow for item in self._items()}
        return [
            (workflow, question)
            for workflow, question in waiting
            if workflow not in with_items and (workflow, question.id) not in self._put
        ]

    def _pending(self, workflow: str) -> list[Interaction]:
        with self._service.services.ledger.read() as tx:
            waiting = questions.pending(tx, workflow)
        return [q for q in waiting if (workflow, q.id) not in self._put]

    def _ask_alone(self, workflow: str, question: Interaction) -> None:
        self._terminal.head(f"A question about {question.target}")
        before = place_of(self._service, workflow)
        done = self._ask(workflow, question)
        if done is not None:
            follow(self._service, before, done.run, self._terminal, self._follow_for)

    def _ask(self, workflow: str, question: Interaction) -> Decided | None:
        """Put a question until its answer is taken or it is left open."""
        self._put.add((workflow, question.id))
        self._terminal.say(question.question, "bold")
        if question.detail:
            self._terminal.say(question.detail)
        for number, option in enumerate(question.options, start=1):
            self._terminal.say(f"  {number}  {option.label}")
        while True:
            value = self._terminal.ask(_answer_prompt(question))
            if not value:
                self._terminal.say("Left open.")
                return None
            try:
                return self._answer(workflow, question, _option(question, value))
            except Conflict as error:
                self._terminal.say(f"Not recorded. {error}", "yellow")
                return None
            except PlacetError as error:
                self._terminal.say(f"Not recorded. {error}", "yellow")

    def _answer(self, workflow: str, question: Interaction, value: str) -> Decided:
        done = self._service.answer(
            workflow, question.id, value, self._who.id, self._proof, TERMINAL
        )
        self.answered += done.taken.answered
        self._terminal.say("Recorded.", "green")
        return done
