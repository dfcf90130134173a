"""What must hold after a chaos run, each with what speaks against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from email import message_from_bytes
from typing import NamedTuple

from blocks.ledger import claims, outbox, verdicts
from blocks.mail_message import message_id_for
from policies.lifecycle import FINAL, State
from tests.acceptance.installation import Installation
from tests.chaos.people import Case
from tests.chaos.run import Run

_SENT = {"executed": 1, "failed": 0, "rejected": 0}


class Check(NamedTuple):
    """One promise, and what broke it."""

    promise: str
    broken: tuple[str, ...]


def all_checks(run: Run) -> list[Check]:
    """Every promise, looked at on what there really is."""
    installation = run.parts.installation

    def each(look: Callable[[Installation, Case], Iterator[str]]) -> tuple[str, ...]:
        return tuple(
            f"{case.workflow}: {what}"
            for case in run.cases
            for what in look(installation, case)
        )

    return [
        Check("every mail is, word for word, what somebody approved", each(_agreed)),
        Check("every mail has its approval in the ledger, and its bytes", each(_valid)),
        Check("no operation's mail came twice", _twice(installation)),
        Check("what is approved is executed, or says what it needs", each(_settled)),
        Check("what is rejected is never sent", each(_rejected)),
        Check("no click that was taken is lost", each(_lost)),
        Check("no stale click was taken", each(_stale)),
        Check("every trail is as it was written", _audit(installation)),
        Check("nothing is left undone", _left(run)),
        Check("nothing ended by itself", _ended(run)),
    ]


def _agreed(installation: Installation, case: Case) -> Iterator[str]:
    """By what people saw when they clicked, whatever the ledger says."""
    allowed = {
        (text.recipient, text.body.replace("\n", "\r\n").encode())
        for text in case.agreed
    }
    for mail in installation.mails(case.story.id):
        if (mail.recipient, mail.body) not in allowed:
            yield f"{mail.message_id} is not what anybody approved"


def _valid(installation: Installation, case: Case) -> Iterator[str]:
    """By the ledger: an approval of that version, and the bytes that were promised."""
    with installation.services.ledger.read() as tx:
        found = installation.items(case.workflow)
        held = [claim for item in found for claim in claims.of_item(tx, item.id)]
        said = [row for item in found for row in verdicts.of_item(tx, item.id)]
        promised = {
            message_id_for(claim.key, "placet.test"): (
                claim.version,
                outbox.of_claim(tx, claim.id).message,
            )
            for claim in held
        }
    approved = {row["version"] for row in said if row["verdict"] == "approved"}
    for received in installation.smtp.received:
        if received.recipients != (f"{case.story.id}@example.com",):
            continue
        name = str(message_from_bytes(received.content)["Message-ID"])
        version, ref = promised.get(name, (0, ""))
        if version not in approved:
            yield f"{name} has no approval"
        elif received.content != installation.services.artifacts.get(ref):
            yield f"{name} has other bytes than {ref}"


def _twice(installation: Installation) -> tuple[str, ...]:
    ids = Counter(mail.message_id for mail in installation.all_mails())
    people = Counter(mail.recipient for mail in installation.all_mails())
    return tuple(f"{one} came {n} times" for one, n in (ids + people).items() if n > 1)


def _settled(installation: Installation, case: Case) -> Iterator[str]:
    """Each state has its number of mails; a failed one says why."""
    sent = len(installation.mails(case.story.id))
    for item in installation.items(case.workflow):
        if item.state not in FINAL:
            yield f"{item.id} is {item.state}"
        elif sent != _SENT.get(item.state, 0):
            yield f"{item.id} is {item.state} and {sent} mails came"
        elif item.state == State.FAILED and not case.reason(item.id):
            yield f"{item.id} has failed and does not say why"


def _rejected(installation: Installation, case: Case) -> Iterator[str]:
    for item in installation.items(case.workflow):
        if item.state == State.REJECTED and installation.mails(case.story.id):
            yield f"{item.id} is rejected, and a mail came"


def _lost(installation: Installation, case: Case) -> Iterator[str]:
    """Whoever was told that it was taken stands in the trail, as taken or refused."""
    told = case.actors()
    for click in case.clicks:
        if click.by not in told:
            where = "form" if click.at_form else "command"
            yield f"{click.by}'s {click.word} by {where} is nowhere"


def _stale(installation: Installation, case: Case) -> Iterator[str]:
    said = case.verdicts()
    for row in said:
        if row["reviewer"] in case.stale:
            yield f"{row['reviewer']} has {row['verdict']} version {row['version']}"


def _audit(installation: Installation) -> tuple[str, ...]:
    said = installation.command("audit", "verify")
    return () if said.code == 0 else (said.out + said.err,)


def _left(run: Run) -> tuple[str, ...]:
    said = run.parts.installation.command("supervise", "--once")
    words = () if "Nothing was left undone" in said.out else (said.out + said.err,)
    return (*words, *(f"{case.workflow}: {case.where()}" for case in run.left))


def _ended(run: Run) -> tuple[str, ...]:
    return tuple(f"see {log}" for log in run.parts.ended_by_themselves)
