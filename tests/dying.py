"""Processes that die at a named point, and what brings their request to its end.

A process is the loop of `flows.handle_request` without Prefect around it; what Prefect
would keep of a dead process, the answers to its forms, is kept here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import pytest

from blocks import recovery
from blocks.control import By
from blocks.ledger import sessions
from blocks.ledger.people import TokenProof
from blocks.ledger.sessions import workflow_id
from blocks.recovery import Point
from policies.decision import Wait
from policies.form import verdict_name
from policies.value import Json
from tasks import opening, waiting
from tasks.waiting import Asking
from tasks.work import Work
from tests.smtp_server import RecordingServer
from tests.world import FLOW_RUN, TERMINAL, World


class Died(BaseException):
    """kill -9, as far as one process can know it: nothing of ours catches this."""


@contextmanager
def dying_at(point: Point, number: int = 1) -> Iterator[None]:
    """Die when this point is reached for that time."""
    left = number

    def die(reached: Point) -> None:
        nonlocal left
        left -= reached == point
        if left == 0:
            raise Died(point)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recovery, "at_point", die)
        yield


class Mortal:
    """One request, carried by one process after the other."""

    def __init__(self, world: World, mail: RecordingServer, request_id: str) -> None:
        self.world = world
        self.workflow = workflow_id(request_id)
        self._mail = mail
        self._request_id = request_id
        self._mails_before = len(mail.received)
        self._answers: dict[str, tuple[dict[str, Json], datetime]] = {}

    @property
    def mails(self) -> int:
        """How many mails were sent for it."""
        return len(self._mail.received) - self._mails_before

    @property
    def status(self) -> str:
        """How it has ended, or that it has not."""
        with self.world.ledger.read() as tx:
            return sessions.load(tx, self.workflow).status

    def dies_at(self, point: Point, number: int = 1) -> bool:
        """Go on until it dies there; False if it comes to its end before that."""
        try:
            with dying_at(point, number):
                self.go_on()
        except Died:
            self.world.clock.move(self.world.services.settings.lease_seconds + 1)
            return True
        return False

    def go_on(self) -> None:
        """Carry it to its end; what nobody can tell is settled by a person."""
        self._carry()
        while self.status == "unknown":
            self._settle()
            self._carry()

    def _carry(self) -> None:
        """A process from its beginning to its end."""
        services = self.world.services = self.world.another()
        request = {**self.world.request, "requested_by": "agent"}
        session = opening.open_session(
            services,
            self.world.domain_name,
            request,
            self._request_id,
            flow_run_id=FLOW_RUN,
        )
        work = opening.take_lease(services, session.workflow, FLOW_RUN)
        assert work is not None
        while work.session.is_open:
            work, decision = self.world.advance(work)
            assert not isinstance(decision, Wait)
            if decision is not None:
                work = self._wait(work)
        opening.give_lease_back(services, work)

    def _wait(self, work: Work) -> Work:
        services = self.world.services
        for pause in waiting.unread_pauses(services, work):
            values, at = self._answers.get(pause.key, (None, None))
            work = waiting.take_stored_answer(services, work, pause, values, at)
        while True:
            work, asking = self.world.next_form(work)
            if asking is None:
                return work
            values = self._approve(asking)
            work = waiting.take_answer(services, work, asking.form, values)
            waiting.end_pause(services, work, asking.pause)

    def _approve(self, asking: Asking) -> dict[str, Json]:
        # A code works once.
        self.world.clock.move(30)
        values: dict[str, Json] = {"reviewer": "ada", "code": self.world.code("ada")}
        for item in asking.form.items:
            choice = next(c for c in item.choices if c.startswith("approve"))
            values[verdict_name(item)] = choice
        self._answers[asking.pause.key] = values, self.world.clock()
        return values

    def _settle(self) -> None:
        """A person looks whether the mail has arrived."""
        proof = TokenProof(token=self.world.people["ada"].token)
        by = By(reviewer="ada", proof=proof, channel=TERMINAL, reason="I looked")
        control = self.world.services.control
        control.settle(self.workflow, by, happened=self.mails > 0)
