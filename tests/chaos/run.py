"""The chaos run itself: people at work, blows as planned, until nothing is left."""

from __future__ import annotations

import time
from collections import Counter

from tests.chaos.parts import Parts
from tests.chaos.people import Case
from tests.chaos.plan import Blow, Plan

_AT_ONCE = 8
# From the last sign of life on: a dead run of a worker comes back within a minute.
_STUCK_AFTER = 150.0
_TICK = 0.05
_AGAIN = 0.5
_LAST_TURNS = 5


class Run:
    """One run; `cases` are all requests in the end."""

    def __init__(self, plan: Plan, parts: Parts) -> None:
        self.plan = plan
        self.parts = parts
        self.cases: list[Case] = []
        self.acts: Counter[str] = Counter()
        self.began = time.monotonic()
        self.seconds = 0.0
        self._to_come = list(plan.stories)
        self._blows = list(plan.blows)
        self._falling: list[tuple[float, Blow]] = []
        self._moved = self.began
        self._idle: dict[str, str] = {}

    def to_its_end(self) -> None:
        """Go on until every request is settled, or nothing moves any more."""
        while self._is_going():
            open_cases = [case for case in self.cases if not case.is_over]
            self._submit(_AT_ONCE - len(open_cases))
            for case in open_cases:
                self._go_on(case)
            self._look_after(open_cases)
            self._strike()
            self.parts.tend()
            time.sleep(_TICK)
        self.parts.wait_for_server()
        self._last_turns()
        self.seconds = time.monotonic() - self.began

    @property
    def left(self) -> list[Case]:
        """The requests that are not settled."""
        return [case for case in self.cases if not case.is_over]

    def _is_going(self) -> bool:
        is_stuck = time.monotonic() - self._moved > _STUCK_AFTER
        return bool(self._to_come or self.left) and not is_stuck

    def _submit(self, free: int) -> None:
        for story in self._to_come[: max(0, free)]:
            self._to_come.remove(story)
            self.parts.installation.add_ticket(story.id)
            self.parts.carry(story)
            self.cases.append(Case(self.parts.installation, story))
            if not story.deployed:
                self._count("submit")

    def _go_on(self, case: Case) -> None:
        act = case.go_on()
        if act is not None:
            self._count(act)

    def _look_after(self, cases: list[Case]) -> None:
        """What people do about requests that nobody carries: resolve, resume."""
        for request_id, how in self.parts.ended():
            self._idle[request_id] = how
        for case in cases:
            if case.is_unknown and case.resolve():
                self._count("resolve")
            if case.begin_again():
                self._count("resume")
            session = case.session()
            is_open = session is None or session.is_open
            if is_open and self._idle.pop(case.story.id, None) is not None:
                self.parts.carry(case.story)
                self._count("resume")

    def _count(self, what: str) -> None:
        self.acts[what] += 1
        if what != "resume":
            # A request that is resumed for ever does not move.
            self._moved = time.monotonic()
        done = self.acts.total() - self.acts["resume"] - self.acts["resolve"]
        while self._blows and self._blows[0].after <= done:
            blow = self._blows.pop(0)
            self._falling.append((time.monotonic() + blow.delay, blow))

    def _strike(self) -> None:
        now = time.monotonic()
        for when, blow in [due for due in self._falling if due[0] <= now]:
            self._falling.remove((when, blow))
            if not self.parts.strike(blow):
                self._falling.append((now + _AGAIN, blow))

    def _last_turns(self) -> None:
        """A supervisor's turns, until it has found nothing to do."""
        for _ in range(_LAST_TURNS):
            said = self.parts.installation.command("supervise", "--once")
            if "Nothing was left undone" in said.out or self.left:
                return
