"""What a chaos run is going to do, all of it drawn from one seed.

The seed fixes what people want, which blows fall after how many of their acts, and what
the mail server does at each connection; how the processes interleave, it cannot fix.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Literal, TypeAlias, TypeVar

from policies.value import Value
from tests.smtp_server import Behaviour

Database: TypeAlias = Literal["sqlite", "postgresql"]
Ending: TypeAlias = Literal["approve", "edit", "reject"]
Act: TypeAlias = Literal["submit", "edit", "old version", "verdict", "late"]
BlowKind: TypeAlias = Literal[
    "flow killed",
    "flow killed between statements",
    "supervisor killed",
    "supervisor killed between statements",
    "worker killed",
    "worker's flow killed",
    "Prefect server killed",
    "PostgreSQL restarted",
]
Mood: TypeAlias = Behaviour | Literal["kill_sender"]
T = TypeVar("T")

_ENDINGS: dict[Ending, int] = {"approve": 5, "edit": 3, "reject": 2}
# So many requests for one blow of a kind; there is one at least.
_ONE_IN: dict[BlowKind, int] = {
    "flow killed": 6,
    "flow killed between statements": 4,
    "supervisor killed": 20,
    "supervisor killed between statements": 12,
    "worker killed": 50,
    "worker's flow killed": 20,
    "Prefect server killed": 25,
    "PostgreSQL restarted": 12,
}
_OF_WORKER: frozenset[BlowKind] = frozenset({"worker killed", "worker's flow killed"})
# Starting a worker and each of its runs costs more than carrying ten requests.
_WORKER_FROM = 20
_ONE_DEPLOYED_IN = 8
_LONGEST_PATIENCE = 5.0
_MOODS: dict[Mood, int] = {
    "accept": 55,
    "drop_before_reply": 8,
    "drop_in_content": 8,
    "hang_before_reply": 4,
    "drop_at_quit": 5,
    "drop_after_recipient": 3,
    "try_later": 3,
    "refuse_connection": 2,
    "refuse_recipient": 2,
    "kill_sender": 10,
}


class Story(Value):
    """One request, and what a person is going to do about it."""

    number: int
    ending: Ending
    deployed: bool
    at_form: bool
    patience: float
    """How long it lies before somebody decides, with its page open."""
    clicks_twice: bool
    comes_late: bool

    @property
    def id(self) -> str:
        """The name of its request, its ticket and its customer's mailbox."""
        return f"chaos-{self.number}"

    @property
    def acts(self) -> tuple[Act, ...]:
        """What is done, in order."""
        first: tuple[Act, ...] = ("submit",)
        if self.ending == "edit":
            first = ("submit", "edit", "old version")
        return (*first, "verdict", "late") if self.comes_late else (*first, "verdict")


class Blow(Value):
    """Something dies once so many acts are done, and a little later.

    `number` says which one, or before which of its next writing statements.
    """

    kind: BlowKind
    after: int
    delay: float
    number: int


class Plan(Value):
    """The whole of it."""

    seed: int
    database: Database
    stories: tuple[Story, ...]
    blows: tuple[Blow, ...]

    @property
    def has_worker(self) -> bool:
        """Whether some requests are carried by a worker of a work pool."""
        return any(story.deployed for story in self.stories)


def make_plan(requests: int, seed: int, database: Database) -> Plan:
    """The plan of a seed: the same arguments, the same plan."""
    chance = Random(seed)
    has_worker = requests >= _WORKER_FROM
    stories = tuple(
        _story(chance, n, has_worker and n % _ONE_DEPLOYED_IN == 0)
        for n in range(1, requests + 1)
    )
    acts = sum(len(story.acts) for story in stories)
    left_out = set() if database == "postgresql" else {"PostgreSQL restarted"}
    if not has_worker:
        left_out |= _OF_WORKER
    blows = [
        _blow(chance, kind, acts)
        for kind in _ONE_IN
        if kind not in left_out
        for _ in range(max(1, requests // _ONE_IN[kind]))
    ]
    ordered = tuple(sorted(blows, key=lambda blow: blow.after))
    return Plan(seed=seed, database=database, stories=stories, blows=ordered)


def moods(seed: int) -> Iterator[Mood]:
    """What the mail server does at its first connection, at its second, and so on."""
    chance = Random(f"mail {seed}")
    while True:
        yield _one_of(chance, _MOODS)


def _story(chance: Random, number: int, deployed: bool) -> Story:
    return Story(
        number=number,
        ending=_one_of(chance, _ENDINGS),
        deployed=deployed,
        at_form=chance.random() < 0.6,
        patience=max(0, chance.uniform(-1, 1)) * _LONGEST_PATIENCE,
        clicks_twice=chance.random() < 0.4,
        comes_late=chance.random() < 0.3,
    )


def _blow(chance: Random, kind: BlowKind, acts: int) -> Blow:
    # A supervisor that finds little to do writes little.
    statements = 15 if kind.startswith("supervisor") else 90
    return Blow(
        kind=kind,
        after=chance.randint(1, acts),
        delay=chance.uniform(0, 0.8),
        number=chance.randint(1, statements),
    )


def _one_of(chance: Random, weights: dict[T, int]) -> T:
    return chance.choices(list(weights), list(weights.values()))[0]
