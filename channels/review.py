"""Reviewing in the terminal: what is asked is shown, and every word counts exactly.

Nothing is recorded but by the service, under the rules that hold for every way in.
"""

from collections.abc import Mapping

from blocks.ledger.items import Item
from blocks.ledger.people import Proof
from blocks.ledger.verdicts import Recorded
from channels.review_progress import FOLLOW_FOR, follow, place_of
from channels.review_questions import Questions, Waiting
from channels.review_terminal import END, Terminal
from channels.service import TERMINAL, Service, Shown
from policies import access, canonical, lifecycle
from policies.access import Denied, Reviewer
from policies.errors import Conflict, NotFound, PlacetError, Refused
from policies.packet import as_text
from policies.plan import ItemVerdict, PacketField, PacketItem, VerdictWord
from policies.risk import at_least
from policies.value import Json

_WORDS: Mapping[str, str] = {
    word: meaning
    for meaning in ("approve", "reject", "edit", "skip", "quit")
    for word in (meaning[0], meaning)
}
_ONLY_WORDS = (
    "Only one of these letters or its whole word counts; Enter is never a yes."
)


class Review:
    """One reviewer's sitting at the terminal; `recorded` is what came of it."""

    def __init__(
        self, service: Service, who: Reviewer, proof: Proof, terminal: Terminal
    ) -> None:
        self.recorded: list[Recorded] = []
        self.questions = Questions(service, who, proof, terminal)
        self._service = service
        self._who = who
        self._proof = proof
        self._terminal = terminal

    def everything(self, workflow: str | None = None) -> bool:
        """All questions, then all open items in priority order, and what comes up.

        Of one workflow or of all. False if there was nothing.
        """
        seen: set[str] = set()
        asked = self._ask_what_holds_up(workflow)
        while items := [i for i in self._items(workflow) if i.id not in seen]:
            for number, item in enumerate(items, start=1):
                seen.add(item.id)
                if not self._judge(item.id, f"{number} of {len(items)}"):
                    return True
            asked = self._ask_what_holds_up(workflow) or asked
        return asked or bool(seen)

    def one(self, item_id: str) -> None:
        """One item, if this reviewer may decide it; they may look at least."""
        shown = self._service.show(item_id)
        if shown.item.tenant != self._who.tenant:
            raise NotFound(f"There is no item {item_id}.")
        if shown.item.state not in lifecycle.OPEN:
            raise Conflict(_decided(shown), code="already_decided")
        denied = self._may(shown.item)
        if denied is not None:
            self._terminal.show(shown.packet)
            words = f"You may look at it, but not decide it: {denied.message}."
            raise Refused(words, code=denied.code)
        self._judge(item_id, "1 of 1")

    def _items(self, workflow: str | None = None) -> list[Item]:
        return [
            item
            for item in self._service.queue()
            if workflow in (None, item.workflow) and self._may(item) is None
        ]

    def _may(self, item: Item) -> Denied | None:
        return access.may_decide(self._who, item.gate) or access.may_use(
            TERMINAL, item.gate
        )

    def _ask_what_holds_up(self, workflow: str | None) -> bool:
        """Put every question that stands in no form with an item; False: none did."""
        asked = False
        while waiting := self._without_items(workflow):
            asked = True
            for of, question in waiting:
                self._terminal.head(f"A question of {of} about {question.target}")
                before = place_of(self._service, of)
                done = self.questions.ask(of, question)
                if done is not None:
                    follow(self._service, before, done.run, self._terminal, FOLLOW_FOR)
        return asked

    def _without_items(self, workflow: str | None) -> list[Waiting]:
        with_items = {item.workflow for item in self._items()}
        waiting = self.questions.waiting(workflow)
        return [(of, question) for of, question in waiting if of not in with_items]

    def _judge(self, item_id: str, progress: str) -> bool:
        """Show an item until it is decided or passed over; False to stop altogether."""
        seen = 0
        while True:
            shown = self._service.show(item_id)
            if shown.item.state not in lifecycle.OPEN:
                self._terminal.say(_decided(shown))
                return True
            if shown.item.version != seen:
                seen = shown.item.version
                self._show(shown, progress)
            word = self._verdict_word(shown.packet.items[0])
            if word in ("skip", "quit"):
                self._terminal.say("Nothing was decided.")
                return word == "skip"
            try:
                if self._act(word, shown):
                    return True
            except PlacetError as error:
                self._terminal.say(f"Not recorded. {error}", "yellow")

    def _show(self, shown: Shown, progress: str) -> None:
        item = shown.item
        due = f"{item.deadline:%Y-%m-%d %H:%M} UTC"
        self._terminal.head(f"{progress}: {item.risk_level} risk, decide by {due}")
        self._terminal.show(shown.packet)
        for workflow, question in self.questions.waiting(item.workflow):
            self.questions.ask(workflow, question)

    def _verdict_word(self, item: PacketItem) -> str:
        words, edit = dict(_WORDS), " [e]dit"
        if not any(field.editable for field in item.fields):
            words = {word: means for word, means in words.items() if means != "edit"}
            edit = ""
        prompt = f"v{item.payload.version}: [a]pprove [r]eject{edit} [s]kip [q]uit >"
        return self._terminal.choose(prompt, words, _ONLY_WORDS)

    def _act(self, word: str, shown: Shown) -> bool:
        """Do what the word says; whether this item is done with."""
        item = shown.packet.items[0]
        if word != "approve":
            self._check_still(shown)
        asks = {
            "approve": self._approval,
            "reject": self._rejection,
            "edit": self._edit,
        }
        said = asks[word](item)
        if said is None:
            return False
        before = place_of(self._service, shown.item.workflow)
        done = self._service.decide(self._who.id, self._proof, said, TERMINAL)
        self.recorded += done.taken.recorded
        self._terminal.say(f"Recorded: {done.taken.recorded[0].verdict}.", "green")
        if word == "edit":
            return False
        follow(self._service, before, done.run, self._terminal, FOLLOW_FOR)
        return True

    def _check_still(self, shown: Shown) -> None:
        """Say at once, and not after a long edit, that somebody else was first."""
        now = self._service.show(shown.item.id)
        if now.item.state not in lifecycle.OPEN:
            raise Conflict(_decided(now), code="already_decided")
        if now.item.version != shown.item.version:
            words = f"Version {now.item.version} is asked now, by an edit meanwhile."
            raise Refused(words, code="stale_version")

    def _approval(self, item: PacketItem) -> ItemVerdict | None:
        if at_least(item.risk_level, "high"):
            phrase = f"approve v{item.payload.version}"
            self._terminal.say(f"This is {item.risk_level} risk.", "bold")
            if self._terminal.ask(f"Type {phrase!r} to approve it:") != phrase:
                self._terminal.say("That is not it: nothing was decided.", "yellow")
                return None
        return _verdict(item, "approve")

    def _rejection(self, item: PacketItem) -> ItemVerdict | None:
        reason = ""
        while not reason:
            reason = self._terminal.ask(
                f"Why? A reason is required; {END!r} goes back:"
            )
        return None if reason == END else _verdict(item, "reject", reason=reason)

    def _edit(self, item: PacketItem) -> ItemVerdict | None:
        edited = {f.name: (f.value, self._edited(f)) for f in item.fields if f.editable}
        changes = {name: new for name, (old, new) in edited.items() if new != old}
        if not changes:
            self._terminal.say("Nothing was changed.")
            return None
        return _verdict(item, "edit", edit=changes)

    def _edited(self, field: PacketField) -> Json:
        text = as_text(field)
        long = field.multiline or "\n" in text
        changed = self._terminal.edit(field.name, text, multiline=long)
        if changed == text:
            return field.value
        if isinstance(field.value, str):
            return changed
        return canonical.read_json(changed.encode())


def _verdict(
    item: PacketItem,
    word: VerdictWord,
    *,
    reason: str = "",
    edit: dict[str, Json] | None = None,
) -> ItemVerdict:
    return ItemVerdict(
        item=item.item,
        verdict=word,
        version=item.payload.version,
        snapshot=item.snapshot,
        reason=reason,
        edit=edit,
    )


def _decided(shown: Shown) -> str:
    last = shown.verdicts[-1] if shown.verdicts else None
    by = f", {last['verdict']} v{last['version']} by {last['reviewer']}" if last else ""
    return f"{shown.item.id} is {shown.item.state}{by}: nothing is left to decide."
