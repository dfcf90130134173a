"""A local request whose processes die at named points, and what an operator does."""

from __future__ import annotations

import signal
from pathlib import Path

from blocks.ledger import claims
from blocks.ledger.claims import Claim
from blocks.ledger.sessions import workflow_id
from blocks.recovery import Point
from policies.lifecycle import OPEN, State
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation
from tests.acceptance.processes import Process

ROOT = Path(__file__).parents[2]


class Doomed:
    """One request of an installation that has no other; ada decides about it."""

    def __init__(self, installation: Installation) -> None:
        self.placet = installation
        self.workflow = workflow_id("doomed")
        self.ada = installation.add_reviewer("ada")
        installation.add_ticket("doomed")
        self._clicked = False

    # Processes

    def start(
        self, point: Point, *tokens: str, action: str = "kill", awaited: str = ""
    ) -> Process:
        """`placet TOKENS`, which kills or stops itself at the point."""
        files = (awaited,) if awaited else ()
        order = (action, *files)
        token = self.ada.token
        return stopped(self.placet, point, *tokens, order=order, PLACET_TOKEN=token)

    def dies(self, point: Point, *tokens: str) -> None:
        """`placet TOKENS` in a process that dies there."""
        ended_by_kill(self.start(point, *tokens))

    def submission(self) -> tuple[str, ...]:
        """The tokens that submit it."""
        file = self.placet.write_request("doomed")
        named = ("--request-id", "doomed")
        return ("submit", "support_email", file, *named, "--local")

    def click(self) -> None:
        """Approve on the form."""
        form = self.placet.wait_until_asked(self.workflow)
        answer = self.placet.fill_in(form, "approve", self.ada)
        assert self.placet.run_of(self.workflow).resume(answer).status == "ACCEPT"
        self._clicked = True

    # What an operator does

    def go_on(self) -> str:
        """Do what its state asks for until it has ended; how it has."""
        while True:
            session = self.placet.session(self.workflow)
            match self.state:
                case State.EXECUTION_UNKNOWN:
                    assert self.placet.command(*self.finding(), by=self.ada).code == 0
                case State.EXECUTION_CLAIMED | State.RETRY_READY:
                    self.supervise()
                case _ if session.is_open:
                    self._resume()
                case _:
                    return session.status

    def supervise(self) -> None:
        """`placet supervise --once`, when nobody holds its effect any more."""
        self.wait_until_free()
        assert self.placet.command("supervise", "--once").code == 0

    def finding(self) -> tuple[str, ...]:
        """The tokens that settle what is not known, by a look at the mails."""
        word = "happened" if self.placet.all_mails() else "not-happened"
        why = ("--as", self.ada.id, "--reason", "I looked")
        return ("resolve", self.workflow, word, *why)

    def wait_until_free(self) -> None:
        """Return once every lease of a dead process has run out."""
        eventually(lambda: self.placet.lease_is_over(self.workflow))
        eventually(lambda: not any(self._is_held(claim) for claim in self._claims()))

    def _resume(self) -> None:
        """`placet resume`; who has not decided yet does so, as soon as it is taken."""
        self.wait_until_free()
        self._has_decided()
        process = self.placet.start("resume", self.workflow)
        eventually(lambda: process.has_ended() or self._has_decided())
        assert process.wait() in (0, 1), process.said()

    def _has_decided(self) -> bool:
        state = self.state
        if state == State.WAITING_FOR_REVIEW and not self._clicked:
            return self._decides()
        return self._clicked or not (state is None or state in OPEN)

    def _decides(self) -> bool:
        item = self.placet.item(self.workflow)
        return self.placet.decide(item, "approve", self.ada).code == 0

    # Looking

    @property
    def state(self) -> State | None:
        """The state of its item, once there is one."""
        found = self.placet.items(self.workflow)
        return found[0].state if found else None

    def _claims(self) -> tuple[Claim, ...]:
        with self.placet.services.ledger.read() as tx:
            items = self.placet.items(self.workflow)
            return tuple(c for i in items for c in claims.of_item(tx, i.id))

    def _is_held(self, claim: Claim) -> bool:
        under_way = claim.state in ("claimed", "dispatched")
        return under_way and claim.lease_until > self.placet.services.clock()


def ended_by_kill(process: Process) -> None:
    """Fail unless it has died as told."""
    assert process.wait() == -signal.SIGKILL, process.said()


def stopped(
    placet: Installation,
    point: Point,
    *tokens: str,
    order: tuple[str, ...] = ("kill",),
    **env: str,
) -> Process:
    """`placet TOKENS` in a process that does as `tests.acceptance.stopper` is told."""
    module, path = "tests.acceptance.stopper", str(ROOT)
    told = (point, *order, "--", *tokens)
    return placet.start_module(module, *told, PYTHONPATH=path, **env)
