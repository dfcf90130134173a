"""The ledger and a small model side by side, through any sequence of events."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from blocks.control import By
from blocks.ledger import audit
from blocks.ledger.freezes import Scope
from blocks.ledger.items import Item
from blocks.ledger.people import TokenProof
from policies.errors import Conflict
from policies.lifecycle import OPEN, State
from policies.policy import GatePolicy, Policy
from tests.haste import hasten
from tests.item_driver import ItemDriver
from tests.item_model import ItemModel
from tests.item_parts import Around
from tests.reading import names
from tests.replay import replay
from tests.together import RACES
from tests.world import TERMINAL, World

MakeDatabase = Callable[[str], tuple[str, Callable[[], None]]]
STEPS = 20
A_MOMENT = timedelta(seconds=1)
ANY_TIME = ["open", "refresh", "ask_again", "expire", "cancel"]
ON_RESUME = ["bind", "next_slot", "let_go", "supersede", "claim", "close"]
REVIEWERS = st.sampled_from(["ada", "bob"])
MOST = 3
WHICH = st.integers(0, MOST - 1)
FAR = st.sampled_from([1, 2, 3, 5, 6, 7, 8])
LUCK = st.tuples(st.booleans(), st.booleans())
"""Whether a send arrives, and whether its sender gets to know."""


class Pair:
    """An item in the ledger, and what it should be."""

    def __init__(self, driver: ItemDriver, model: ItemModel) -> None:
        self.driver = driver
        self.model = model
        self.asked = {1: self._payload()}

    def both(self, event: str, *args: Any) -> None:
        """The same event on both sides, with the same answer."""
        self.model.around.now = self.driver.world.clock.now
        told = getattr(self.driver, event)(*args)
        assert (event, args, told) == (event, args, getattr(self.model, event)(*args))
        self.asked.setdefault(self.model.version, self._payload())

    def _payload(self) -> dict[str, Any]:
        """What the present version asks for."""
        world = self.driver.world
        payload = world.version(self.driver.work).snapshot.payload
        asked: dict[str, Any] = json.loads(world.services.artifacts.get(payload.ref))
        return asked

    def natural(self, arrives: bool, known: bool) -> tuple[Any, ...]:
        """What comes next where all goes well; how a send ends is told."""
        model = self.model
        match model.state:
            case State.QUEUED | State.ASSIGNED:
                return ("open",)
            case State.WAITING_FOR_REVIEW:
                by = "bob" if "ada" in model.approvals else "ada"
                return ("decide", "approve", by, model.version)
            case State.APPROVED:
                return ("let_go",) if model.held else ("bind",)
            case State.EXECUTION_CLAIMED:
                return self._in_hand(arrives, known)
            case State.EXECUTION_UNKNOWN:
                return ("settle", self.arrived())
            case _:
                return (_NATURAL.get(model.state, "close"),)

    def _in_hand(self, arrives: bool, known: bool) -> tuple[Any, ...]:
        last = len(self.model.hands) - 1
        assert self.model.claim_now is not None
        if self.model.claim_now.state == "claimed":
            return ("dispatch", last, arrives)
        return ("finish", last, self.outcome(known=known))

    def arrived(self) -> bool:
        """Whether the last send of the present version had an effect."""
        claim = self.model.claim_now
        return claim is not None and claim.arrived

    def outcome(self, *, known: bool) -> str:
        """What a truthful worker records."""
        if not known:
            return "unknown"
        return "executed" if self.arrived() else "failed"

    def has_lost_its_slot(self) -> bool:
        """Another outcome than the slot's is there, or the slot is used up."""
        slot, model = self.model.slot, self.model
        return slot is not None and (
            slot.consumed or slot.outcome != (model.said, model.version)
        )

    def check(self) -> None:
        """Both sides agree, and so does the trail."""
        item, known, trail = self.driver.look()
        model = self.model
        assert (item.state, item.version) == (model.state, model.version)
        assert bool(item.held) == model.held
        assert [(c.version, c.state, c.token) for c in known] == [
            (v, c.state, c.token) for v, c in model.claims.items() if not c.buried
        ]
        self._check_moments(item)
        assert replay(trail) == item.state
        assert names(trail).count("dispatched") == len(self.driver.sent)
        assert sum(sent.arrived for sent in self.driver.sent) <= 1

    def _check_moments(self, item: Item) -> None:
        model = self.model
        assert abs(item.deadline - model.deadline) < A_MOMENT
        if item.state == State.APPROVED:
            assert item.expires_at is not None and model.expires_at is not None
            assert abs(item.expires_at - model.expires_at) < A_MOMENT


_NATURAL = {
    State.RESUME_CLAIMED: "consume",
    State.GRAPH_RESUMED: "claim",
    State.RETRY_READY: "retry",
    State.REAPPROVAL_REQUIRED: "ask_again",
}


class Lifecycle(RuleBasedStateMachine):
    """Two requests to one customer; each rule is one event, in the ledger and here."""

    make_database: MakeDatabase
    folder: Path
    made = 0

    @initialize(quorum=st.sampled_from([1, 1, 2]), steps=FAR, luck=LUCK)
    def begin(self, quorum: int, steps: int, luck: tuple[bool, bool]) -> None:
        """A fresh ledger, and a request that has come some way."""
        Lifecycle.made += 1
        name = f"example-{Lifecycle.made}"
        url, self.drop = Lifecycle.make_database(name)
        self.world = World(url, Lifecycle.folder / name)
        # So that every connection is made in haste.
        self.world.close()
        hasten(self.world.ledger)
        self.world.add("olga", role="owner")
        gate = GatePolicy(role="reviewer", verdicts=quorum)
        self.world.set_policy(Policy(gates={**Policy().gates, "medium": gate}))
        self.around = Around(self.world.clock.now)
        self.quorum = quorum
        self.pairs: list[Pair] = []
        self.ask(steps, luck)

    @rule(steps=FAR, luck=LUCK)
    def ask(self, steps: int, luck: tuple[bool, bool]) -> None:
        """Another request, which comes some way."""
        if len(self.pairs) < MOST:
            driver = ItemDriver(self.world, f"request-{len(self.pairs)}")
            self.around.now = self.world.clock.now
            self.pairs.append(Pair(driver, ItemModel(self.around, self.quorum)))
            self.go_on(len(self.pairs) - 1, steps, luck)

    @rule(which=WHICH, steps=FAR, luck=LUCK)
    def go_on(self, which: int, steps: int, luck: tuple[bool, bool]) -> None:
        """Several events of a request with which all goes well."""
        pair = self.pair(which)
        for _ in range(steps):
            event, *args = pair.natural(*luck)
            if event == "bind" and pair.has_lost_its_slot():
                pair.both("next_slot")
            if event == "dispatch":
                self.dispatch(pair, *args)
            else:
                pair.both(event, *args)
            pair.check()
        self.check()

    @rule(
        which=WHICH,
        word=st.sampled_from(["approve", "approve", "edit", "reject", "withdraw"]),
        by=REVIEWERS,
        stale=st.booleans(),
    )
    def decide(self, which: int, word: str, by: str, stale: bool) -> None:
        """A verdict on the present version, or on the one before."""
        version = max(1, self.pair(which).model.version - stale)
        self.both(which, "decide", word, by, version)

    @rule(
        which=WHICH,
        event=st.sampled_from(ANY_TIME + ON_RESUME),
    )
    def one_more(self, which: int, event: str) -> None:
        """Whatever a run or the supervisor does at any moment."""
        self.both(which, event)

    @rule(which=WHICH)
    def consume(self, which: int) -> None:
        """The run goes on with the slot's outcome, or tries to once more."""
        if self.pair(which).model.slot is not None:
            self.both(which, "consume")

    @rule(which=WHICH, hand=st.integers(0, 9), arrives=st.booleans())
    def send(self, which: int, hand: int, arrives: bool) -> None:
        """Somebody who holds a claim, or held it, wants to send."""
        pair = self.pair(which)
        if pair.model.hands:
            self.dispatch(pair, hand % len(pair.model.hands), arrives)
            self.check()

    @rule(which=WHICH, hand=st.integers(0, 9), known=st.booleans())
    def finish(self, which: int, hand: int, known: bool) -> None:
        """Somebody who holds a claim, or held it, records an outcome."""
        pair = self.pair(which)
        if pair.model.hands:
            number = hand % len(pair.model.hands)
            self.both(which, "finish", number, pair.outcome(known=known))

    @rule(which=WHICH)
    def take_over(self, which: int) -> None:
        """Another worker, if the claim is one that can be taken over."""
        claim = self.pair(which).model.claim_now
        if claim is not None and claim.state in ("claimed", "dispatched"):
            self.both(which, "take_over")

    @rule(which=WHICH)
    def settle(self, which: int) -> None:
        """A person tells the truth about an outcome, known or not."""
        self.both(which, "settle", self.pair(which).arrived())

    @rule(which=WHICH)
    def retry(self, which: int) -> None:
        """What did not happen is tried again."""
        claim = self.pair(which).model.claim_now
        if claim is not None and claim.state == "retry_ready":
            self.both(which, "retry")

    @rule()
    def bury(self) -> None:
        """Every key past its retention."""
        self.pairs[0].both("bury")
        for pair in self.pairs[1:]:
            pair.model.bury()
        self.check()

    @rule(frozen=st.booleans())
    def freeze(self, frozen: bool) -> None:
        """Everything is frozen, or goes on."""
        proof = TokenProof(token=self.world.people["olga"].token)
        by = By(reviewer="olga", proof=proof, channel=TERMINAL, reason="an incident")
        everything = Scope(tenant="main", tool=None)
        with suppress(Conflict):
            self.world.services.control.freeze(everything, by, frozen=frozen)
        self.around.frozen = frozen
        self.check()

    @rule()
    def move(self) -> None:
        """The customer has another address."""
        self.around.address += 1
        address = f"grace-{self.around.address}@example.com"
        self.world.edit_address("c-1", address)
        self.check()

    @rule(seconds=st.sampled_from([7, 61, 3_607]))
    def wait(self, seconds: int) -> None:
        """Time goes by."""
        self.world.clock.move(seconds)

    @rule(which=WHICH)
    def wait_for_the_end(self, which: int) -> None:
        """Until the time to decide, or to execute, is up."""
        model = self.pair(which).model
        end = model.deadline if model.state in OPEN else model.expires_at
        if end is not None and end > self.world.clock.now:
            self.world.clock.set(end + A_MOMENT)

    def teardown(self) -> None:
        """The ledger is not needed any more."""
        if hasattr(self, "world"):
            self.world.close()
            self.drop()

    def pair(self, which: int) -> Pair:
        """One of the requests that there are."""
        return self.pairs[which % len(self.pairs)]

    def both(self, which: int, event: str, *args: Any) -> None:
        """An event of one request."""
        self.pair(which).both(event, *args)
        self.check()

    def dispatch(self, pair: Pair, hand: int, arrives: bool) -> None:
        """What is sent is what somebody's standing approval covers."""
        before = len(pair.driver.sent)
        pair.both("dispatch", hand, arrives)
        for sent in pair.driver.sent[before:]:
            asked = pair.asked[pair.model.version]
            assert (sent.to, sent.text) == (asked["recipient"], asked["body"].strip())
            assert len(pair.driver.approvers(sent.version)) >= self.quorum

    def check(self) -> None:
        """What must be so after every event."""
        for pair in self.pairs:
            pair.check()
        with self.world.ledger.read() as tx:
            assert audit.verify(tx)[1] is None


@pytest.fixture
def machine(
    make_database: MakeDatabase, tmp_path: Path, plain_tools: None
) -> type[Lifecycle]:
    """The machine over fresh databases of one kind."""
    Lifecycle.make_database = staticmethod(make_database)
    Lifecycle.folder = tmp_path
    return Lifecycle


def test_no_sequence_of_events_leaves_the_state_table(
    machine: type[Lifecycle],
) -> None:
    """X1, X2, X5, X6, X9, A4, A5: at most one effect, approved, in any order."""
    bounds = settings(
        max_examples=2 * RACES,
        stateful_step_count=STEPS,
        # To make a sequence shorter takes minutes; it can be read as it is.
        phases=[Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=bounds)
