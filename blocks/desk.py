"""The desk where verdicts and answers are handed in, whichever way they come.

One submission is one transaction: proof, verdicts and answers are recorded together or
not at all. A refused submission changes no item; the attempt itself is recorded.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from blocks import packets
from blocks.artifacts import ArtifactStore
from blocks.domain import Domain, domain_of
from blocks.ledger import (
    audit,
    endings,
    facts,
    items,
    judging,
    outbox,
    people,
    proposals,
    questions,
    rules,
    sessions,
    verdicts,
    versions,
)
from blocks.ledger.database import Ledger, Transaction
from blocks.ledger.items import Item
from blocks.ledger.people import Proof
from blocks.ledger.sessions import Session
from blocks.ledger.verdicts import Acting, Judged, Recorded, Refusal
from blocks.ledger.versions import Version
from blocks.recovery import Point, reach
from blocks.vault import Vault
from policies import access, interaction
from policies.access import Channel, Denied, Gate, Reviewer
from policies.errors import Conflict, InvalidInput, NotFound, PlacetError
from policies.interaction import NotAccepted
from policies.plan import ItemVerdict
from policies.policy import Policy
from policies.value import Json, Value
from policies.visible import make_visible

# Whoever is not known may have typed anything.
_SHOWN_OF_A_NAME = 100


class HandedIn(Value):
    """One submission: who, with which proof, by which way, and what they say."""

    workflow: str
    reviewer: str
    proof: Proof
    channel: Channel
    verdicts: tuple[ItemVerdict, ...] = ()
    answers: dict[str, str] = {}  # noqa: RUF012 (pydantic copies it)


class Taken(Value):
    """Everything was recorded."""

    kind: Literal["taken"] = "taken"
    recorded: tuple[Recorded, ...]
    answered: tuple[str, ...]


class NotTaken(Value):
    """Nothing was recorded but the attempt; every reason is named."""

    kind: Literal["not_taken"] = "not_taken"
    refusals: tuple[Refusal, ...]


Outcome: TypeAlias = Taken | NotTaken


class Desk:
    """Takes submissions for every domain."""

    def __init__(
        self,
        ledger: Ledger,
        artifacts: ArtifactStore,
        vault: Vault,
        domains: Mapping[str, Domain],
    ) -> None:
        self.ledger = ledger
        self.artifacts = artifacts
        self.vault = vault
        self.domains = domains

    def hand_in(self, handed: HandedIn) -> Outcome:
        """Record a submission, or say why not.

        `InvalidInput` (two_verdicts) if it says two things about one item.
        """
        if len({said.item for said in handed.verdicts}) < len(handed.verdicts):
            raise InvalidInput("An item has two verdicts.", code="two_verdicts")
        with self.ledger.read() as tx:
            session = sessions.load(tx, handed.workflow)
            seen = [_seen(tx, session, v) for v in handed.verdicts]
            policy = rules.in_force(tx)
        domain = domain_of(self.domains, session.domain)
        judged = [
            self._look(domain, policy, verdict, item, version)
            for verdict, (item, version) in zip(handed.verdicts, seen, strict=True)
        ]
        with self.ledger.write() as tx:
            endings.expire_overdue(tx, session.workflow)
            who = people.prove(tx, self.vault, handed.reviewer, handed.proof)
            if isinstance(who, Denied):
                return _turn_away(tx, handed, None, [_denied(handed, who)])
            session = sessions.load(tx, session.workflow)
            refusals = _judge(tx, session, domain, who, handed, judged)
            if refusals:
                return _turn_away(tx, handed, who, refusals)
            taken = self._take(tx, session, domain, who, handed, judged)
        reach(Point.VERDICT_RECORDED)
        return taken

    def _look(
        self,
        domain: Domain,
        policy: Policy,
        verdict: ItemVerdict,
        item: Item,
        version: Version,
    ) -> Judged:
        """What can be read and prepared before the transaction."""
        stored = facts.read_stored(self.artifacts, domain.adapter, version.snapshot)
        if verdict.verdict != "edit":
            return Judged(stored=stored)
        tool = domain.adapter.tools[item.action_type]
        try:
            present = packets.payload_of(self.artifacts, version)
            payload = proposals.apply_edit(tool, present, verdict.edit or {})
            prepared = proposals.examine(
                domain.adapter, policy, tool.name, payload, None
            )
        except (InvalidInput, Conflict, NotFound) as error:
            return Judged(stored=stored, invalid=_invalid(verdict, error))
        return Judged(stored=stored, prepared=prepared)

    def _take(
        self,
        tx: Transaction,
        session: Session,
        domain: Domain,
        who: Reviewer,
        handed: HandedIn,
        judged: list[Judged],
    ) -> Taken:
        """Record what was judged to be right, in the same transaction."""
        acting = Acting(who=who, channel=handed.channel)
        pairs = zip(handed.verdicts, judged, strict=True)
        self._keep(judged)
        for question, value in handed.answers.items():
            said = interaction.words(value)
            questions.answer(tx, session.workflow, question, said, acting)
        taken = Taken(
            recorded=tuple(
                verdicts.record(tx, session, domain, acting, v, j) for v, j in pairs
            ),
            answered=tuple(handed.answers),
        )
        _promise_wake(tx, session.workflow, taken)
        return taken

    def _keep(self, judged: list[Judged]) -> None:
        """Store what was edited: only now is it known to come from who may do so."""
        for looked in judged:
            if looked.prepared is not None:
                self.artifacts.put(looked.prepared.data, "payload")


def _promise_wake(tx: Transaction, workflow: str, taken: Taken) -> None:
    """The run is owed a wake for what was just recorded: ids and versions, no more."""
    causes = [r.decision_id or f"{r.item}-v{r.version}" for r in taken.recorded]
    causes += [f"{workflow}-{question}" for question in taken.answered]
    outbox.promise_wake(tx, workflow, causes[0], recorded=list[Json](causes))


def _judge(
    tx: Transaction,
    session: Session,
    domain: Domain,
    who: Reviewer,
    handed: HandedIn,
    judged: list[Judged],
) -> list[Refusal]:
    """Everything that keeps a submission from being recorded, under its locks."""
    if who.tenant != session.tenant:
        return [_unknown_here(handed)]
    _lock(tx, handed)
    acting = Acting(who=who, channel=handed.channel)
    pairs = zip(handed.verdicts, judged, strict=True)
    found = [judging.judge(tx, session, domain, acting, v, j) for v, j in pairs]
    refusals = [refusal for refusal in found if refusal is not None]
    refusals += _judge_answers(tx, session, who, handed)
    if not refusals and not handed.verdicts and not handed.answers:
        refusals = [_nothing(handed)]
    return refusals


def _unknown_here(handed: HandedIn) -> Refusal:
    """Whoever works for another tenant is not told what there is in this one."""
    about = [verdict.item for verdict in handed.verdicts] or [handed.workflow]
    return Refusal(item=about[0], code="not_found", message=f"there is no {about[0]}")


def _seen(
    tx: Transaction, session: Session, verdict: ItemVerdict
) -> tuple[Item, Version]:
    item = items.load(tx, verdict.item)
    if item.workflow != session.workflow:
        raise NotFound(f"Workflow {session.workflow} has no item {item.id}.")
    return item, versions.load(tx, item.id, item.version)


def _lock(tx: Transaction, handed: HandedIn) -> None:
    """In plan order, whatever the submission's: of two, one waits for the other."""
    named = {verdict.item for verdict in handed.verdicts}
    for item in items.of_workflow(tx, handed.workflow):
        if item.id in named:
            items.load(tx, item.id, lock=True)
    questions.lock(tx, handed.workflow, tuple(handed.answers))
    tx.look_at_clock()
    endings.expire_overdue(tx, handed.workflow)


def _judge_answers(
    tx: Transaction, session: Session, who: Reviewer, handed: HandedIn
) -> list[Refusal]:
    refusals = []
    for name, value in handed.answers.items():
        asked = questions.load(tx, session.workflow, name)
        denied = may_answer(who, session.tenant)
        judged = interaction.judge_answer(asked.question, value)
        if denied is not None:
            refusals.append(
                Refusal(item=name, code=denied.code, message=denied.message)
            )
        elif asked.state != "pending":
            words = f"it was answered already: {asked.answer or 'left open'}"
            refusals.append(Refusal(item=name, code="already_answered", message=words))
        elif isinstance(judged, NotAccepted):
            refusals.append(
                Refusal(item=name, code="invalid_answer", message=judged.reason)
            )
    return refusals


def may_answer(who: Reviewer, tenant: str) -> Denied | None:
    """Whoever works for the tenant as a reviewer may answer; an auditor only reads."""
    gate = Gate(
        tenant=tenant,
        permission=who.permissions[0] if who.permissions else "answer",
        role="reviewer",
        requested_by="",
    )
    return access.may_decide(who, gate)


def _turn_away(
    tx: Transaction, handed: HandedIn, who: Reviewer | None, refusals: list[Refusal]
) -> NotTaken:
    """Record the attempt. The transaction is committed: wrong codes must count.

    `who` is whoever has proved who they are.
    """
    role = who.role if who else None
    named = {refusal.item: refusal for refusal in refusals}
    actor = make_visible(handed.reviewer[:_SHOWN_OF_A_NAME])
    for verdict in handed.verdicts:
        refusal = named.get(verdict.item) or refusals[0]
        verdicts.refuse(tx, verdict, actor, role, handed.channel, refusal)
    if not handed.verdicts:
        # The code alone: a message quotes the answer, which is content.
        audit.append(
            tx,
            handed.workflow,
            "answer_refused",
            actor=actor,
            role=role,
            channel=handed.channel.name,
            method=handed.channel.method,
            reasons=[{"about": r.item, "code": r.code} for r in refusals],
        )
    return NotTaken(refusals=tuple(refusals))


def _denied(handed: HandedIn, denied: Denied) -> Refusal:
    first = handed.verdicts[0].item if handed.verdicts else "the submission"
    return Refusal(item=first, code=denied.code, message=denied.message)


def _invalid(verdict: ItemVerdict, error: PlacetError) -> Refusal:
    words = error.message if error.hint is None else f"{error.message} {error.hint}"
    shown = make_visible(words)
    return Refusal(item=verdict.item, code="invalid_edit", message=shown)


def _nothing(handed: HandedIn) -> Refusal:
    return Refusal(
        item="the form",
        code="nothing_decided",
        message="everything was left open: decide or answer at least one thing",
    )
