"""The questions that a request has put, asked in the terminal; each once a sitting."""

from typing import TypeAlias

from blocks.desk import may_answer
from blocks.ledger import questions
from blocks.ledger.people import Proof
from channels.review_terminal import Terminal
from channels.service import TERMINAL, Decided, Service
from policies.access import Reviewer
from policies.errors import Conflict, PlacetError
from policies.interaction import Interaction

Waiting: TypeAlias = tuple[str, Interaction]
"""A question with the workflow that has put it."""


class Questions:
    """What one reviewer is asked; `answered` is what they answered."""

    def __init__(
        self, service: Service, who: Reviewer, proof: Proof, terminal: Terminal
    ) -> None:
        self.answered: list[str] = []
        self._service = service
        self._who = who
        self._proof = proof
        self._terminal = terminal
        self._put: set[tuple[str, str]] = set()

    def waiting(self, workflow: str | None = None) -> list[Waiting]:
        """What this reviewer may answer and was not asked yet, of one workflow or all.

        Other tenants' questions are not theirs to see.
        """
        if may_answer(self._who, self._who.tenant) is not None:
            return []
        with self._service.services.ledger.read() as tx:
            found = questions.of_tenant(tx, self._who.tenant)
        return [
            (of, question)
            for of, question in found
            if workflow in (None, of) and (of, question.id) not in self._put
        ]

    def ask(self, workflow: str, question: Interaction) -> Decided | None:
        """Put a question until its answer is taken; None if it is left open."""
        self._put.add((workflow, question.id))
        self._show(question)
        while value := self._terminal.ask(_prompt(question)):
            try:
                return self._answer(workflow, question, _chosen(question, value))
            except PlacetError as error:
                self._terminal.say(f"Not recorded. {error}", "yellow")
                if isinstance(error, Conflict):
                    return None
        self._terminal.say("Left open.")
        return None

    def _show(self, question: Interaction) -> None:
        self._terminal.say(question.question, "bold")
        if question.detail:
            self._terminal.say(question.detail)
        for number, option in enumerate(question.options, start=1):
            self._terminal.say(f"  {number}  {option.label}")

    def _answer(self, workflow: str, question: Interaction, value: str) -> Decided:
        done = self._service.answer(
            workflow, question.id, value, self._who.id, self._proof, TERMINAL
        )
        self.answered += done.taken.answered
        self._terminal.say("Recorded: your answer.", "green")
        return done


def _prompt(question: Interaction) -> str:
    how = "The number or the value" if question.options else "Your answer"
    return f"{how}; Enter leaves it open:"


def _chosen(question: Interaction, value: str) -> str:
    """The option with that number, or the value as it was typed."""
    numbered = {str(n): o.value for n, o in enumerate(question.options, start=1)}
    return numbered.get(value, value)
