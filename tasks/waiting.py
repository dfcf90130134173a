"""The ledger's side of a wait: what is asked, what was answered, whether it is over."""

from datetime import datetime

from blocks import packets
from blocks.desk import HandedIn, NotTaken
from blocks.domain import domain_of
from blocks.ledger import (
    endings,
    items,
    outbox,
    questions,
    rounds,
    sessions,
)
from blocks.ledger.database import Transaction
from blocks.ledger.people import CodeProof
from blocks.ledger.rounds import PauseKind, PauseRow
from blocks.ledger.verdicts import Refusal
from blocks.prefect_forms import FormAnswer
from blocks.recovery import Point, reach
from policies import form as forms
from policies import interaction, packet
from policies.canonical import canonicalise
from policies.errors import Misconfigured
from policies.form import Form
from policies.interaction import Interaction
from policies.lifecycle import OPEN
from policies.value import Json, Value
from tasks import executing, late_answers, resuming
from tasks import work as working
from tasks.asking import refresh_items
from tasks.late_answers import PREFECT_FORM as PREFECT_FORM
from tasks.services import Services
from tasks.work import Work


class Asking(Value):
    """One form to show: what it asks, the text above it, and its pause."""

    form: Form
    markdown: str
    pause: PauseRow
    until: datetime | None
    """When something that is asked runs out of time."""
    typed: dict[str, Json] = {}  # noqa: RUF012 (pydantic copies it)
    """What was sent with the form before: what is not taken is not lost either."""


def next_form(
    services: Services,
    work: Work,
    asked: tuple[Interaction, ...],
    flow_run_id: str,
    kind: PauseKind,
) -> tuple[Work, Asking | None]:
    """The next form of this wait, or None when it is over and was resumed."""
    while True:
        with services.ledger.write() as tx:
            # First: what is recorded after this is owed a wake of its own.
            outbox.note_consumed(tx, work.workflow)
            endings.expire_overdue(tx, work.workflow)
            questions.lapse(tx, work.workflow)
            work = working.read(tx, work.held)
            standing = rounds.standing(tx, work.session)
        if standing == "settled":
            resumed = resuming.resume(services, work)
            if resumed is not None:
                return resumed, None
            continue
        renewed = refresh_items(services, work)
        if standing == "open" and renewed is work:
            return work, _ask(services, work, flow_run_id, kind)
        work = _open(services, renewed, asked)


def take_answer(
    services: Services,
    work: Work,
    form: Form,
    values: dict[str, Json],
    submitted_at: datetime | None = None,
) -> Work:
    """Hand in a form's answer; if it is not taken, the next form says why.

    To choose `edit …` in the first form decides nothing and needs no code: the next
    form has the fields. What was sent without any code is nobody's attempt: it is asked
    again, and never counted as a wrong code.
    """
    reach(Point.FORM_ANSWERED)
    said = forms.read_answer(form, values)
    notice, kept = "", None
    if said.outdated:
        late_answers.refuse(services, work.workflow, said, "stale_version")
        notice = "The form was answered for an earlier version: look at this one."
        return _show_next(services, work, notice, None)
    if said.verdicts or said.answers or said.wants_to_edit is None:
        if form.editing and not said.verdicts:
            # The edit was given up: back to the first form.
            return _show_next(services, work, "", None)
        work, notice = _hand_in(services, work, form, _handed(work, said, submitted_at))
        kept = form.items[0].item if form.editing and notice else None
    if said.other_edits:
        notice = (
            f"{notice}\nOne edit at a time: choose the next one after this.".strip()
        )
    return _show_next(services, work, notice, said.wants_to_edit or kept)


def _hand_in(
    services: Services, work: Work, form: Form, handed: HandedIn
) -> tuple[Work, str]:
    """Hand in what was said; where it is not taken, why."""
    if isinstance(handed.proof, CodeProof) and not handed.proof.code:
        return work, "a one-time code is needed, and none was given"
    try:
        outcome = services.desk.hand_in(handed)
    except Misconfigured as error:
        # The key was changed under us, say: nobody's slip, and no reason to end.
        return work, f"not recorded, the installation must be mended: {error.message}"
    if not isinstance(outcome, NotTaken):
        return work, ""
    if any(r.code in _MOVED for r in outcome.refusals):
        work = refresh_items(services, work)
    words = [_words(form, refusal) for refusal in outcome.refusals]
    if all(refusal.code not in _NO_PROOF for refusal in outcome.refusals):
        words.append("The code is used up: the next answer needs the next code.")
    return work, "\n".join(words)


def _handed(
    work: Work, said: forms.Submission, submitted_at: datetime | None
) -> HandedIn:
    return HandedIn(
        workflow=work.workflow,
        reviewer=said.reviewer,
        proof=CodeProof(code=said.code, submitted_at=submitted_at),
        channel=PREFECT_FORM,
        verdicts=said.verdicts,
        answers=said.answers,
    )


def _show_next(
    services: Services, work: Work, notice: str, editing: str | None
) -> Work:
    with services.ledger.write() as tx:
        sessions.require(tx, work.held)
        rounds.set_next_form(tx, work.workflow, notice=notice, editing=editing)
    reach(Point.FORM_READ)
    return work


# Nobody's code was used.
_NO_PROOF = frozenset({"wrong_proof", "locked_out", "revoked"})
# The facts have moved under the reviewer: the item needs a new version.
_MOVED = frozenset({"intent_mismatch", "evidence_mismatch", "validation_changed"})


def take_stored_answer(
    services: Services,
    work: Work,
    pause: PauseRow,
    values: dict[str, Json] | None,
    submitted_at: datetime | None = None,
) -> Work:
    """Hand in the answer to a pause of an earlier attempt, if there was one."""
    if values is not None and work.session.pending is None:
        at = submitted_at or services.clock()
        late_answers.take(services, work.workflow, FormAnswer(values, at))
    elif values is not None:
        form = form_shown(services, work)
        work = take_answer(services, work, form, values, submitted_at)
    end_pause(services, work, pause)
    return work


def require_lease(services: Services, work: Work) -> None:
    """`Superseded` if another process works on this by now: then the run is theirs."""
    with services.ledger.write() as tx:
        sessions.require(tx, work.held)


def is_over(services: Services, work: Work) -> bool:
    """Whether nothing is waited for here any more, and we are to go on."""
    with services.ledger.read() as tx:
        session = sessions.load(tx, work.workflow)
        ours = session.lease_token == work.held.token
        return ours and rounds.standing(tx, session) != "open"


def end_pause(services: Services, work: Work, pause: PauseRow) -> None:
    """Note that a pause is over and its form was read."""
    with services.ledger.write() as tx:
        sessions.require(tx, work.held)
        rounds.end_pause(tx, work.workflow, pause.key)
    reach(Point.PAUSE_ENDED)


def unread_pauses(services: Services, work: Work) -> tuple[PauseRow, ...]:
    """The pauses of earlier attempts whose forms nobody has read."""
    with services.ledger.read() as tx:
        return rounds.unread_pauses(tx, work.workflow)


def start_plain_pause(services: Services, work: Work, flow_run_id: str) -> PauseRow:
    """A pause without a form, until something outside changes."""
    with services.ledger.write() as tx:
        pause = rounds.start_pause(tx, work.held, flow_run_id, "long")
    reach(Point.PAUSE_WRITTEN)
    return pause


def let_go(services: Services, work: Work, pause: PauseRow) -> Work:
    """End a plain pause: the guard is asked again about what it had held back."""
    with services.ledger.write() as tx:
        rounds.end_pause(tx, work.workflow, pause.key)
        endings.let_go(tx, work.workflow)
        return working.read(tx, work.held)


def may_go_on(services: Services, work: Work) -> bool:
    """Whether the guard holds back nothing any more of what it had held back."""
    with services.ledger.read() as tx:
        held = [i.id for i in items.of_workflow(tx, work.workflow) if i.held]
    return bool(held) and not any(executing.is_held_back(services, i) for i in held)


def form_shown(services: Services, work: Work, *, only_open: bool = False) -> Form:
    """The form of the pending round, with or without what was decided meanwhile."""
    shown, pending = work.state.review_packet, work.session.pending
    with services.ledger.read() as tx:
        waiting = questions.pending(tx, work.workflow)
        decided = _decided(tx, work.workflow)
    left_out = frozenset(decided) if only_open else frozenset()
    editing = pending.editing if pending else None
    return forms.form_of(shown.items if shown else (), waiting, left_out, editing)


def _decided(tx: Transaction, workflow: str) -> dict[str, str]:
    """The items that wait for no verdict any more, with their states."""
    return {
        item.id: item.state.value
        for item in items.of_workflow(tx, workflow)
        if item.state not in OPEN
    }


def _open(services: Services, work: Work, asked: tuple[Interaction, ...]) -> Work:
    """Open a round; the packet that is shown is kept before it is shown."""
    domain = domain_of(services.domains, work.session.domain)
    with services.ledger.read() as tx:
        rows = packets.read_rows(tx, work.workflow)
    shown = packets.build(services.artifacts, domain, rows)
    kept = services.artifacts.put(canonicalise(shown), "packet")
    with services.ledger.write() as tx:
        now = items.lock_open(tx, work.workflow)
        if now != [(item.id, item.version) for item, _ in rows.items]:
            # Decided or edited meanwhile: what is shown must be what is asked.
            return working.read(tx, work.held)
        held, _ = rounds.open_round(tx, work.held, asked, kept)
        opened = working.read(tx, held)
        work = working.save_in(tx, opened, review_packet=shown)
    reach(Point.ROUND_OPENED)
    return work


def _ask(services: Services, work: Work, flow_run_id: str, kind: PauseKind) -> Asking:
    with services.ledger.write() as tx:
        pause = rounds.start_pause(tx, work.held, flow_run_id, kind)
        until = _until(tx, work)
        decided = _decided(tx, work.workflow)
    reach(Point.PAUSE_WRITTEN)
    shown, pending = work.state.review_packet, work.session.pending
    assert shown is not None and pending is not None
    form = form_shown(services, work, only_open=True)
    return Asking(
        form=form,
        markdown=packet.as_markdown(shown, pending.notice, form.questions, decided),
        pause=pause,
        until=until,
    )


def _until(tx: Transaction, work: Work) -> datetime | None:
    """The first moment at which something that is asked runs out of time."""
    moments = [
        item.deadline
        for item in items.of_workflow(tx, work.workflow)
        if item.state in OPEN
    ]
    for asked in questions.of_workflow(tx, work.workflow):
        ends = interaction.lapses_at(asked.question, asked.asked_at)
        if asked.state == "pending" and ends is not None:
            moments.append(ends)
    return min(moments, default=None)


def _words(form: Form, refusal: Refusal) -> str:
    """A refusal as the form tells it: by the number of the item, not by its id."""
    for item in form.items:
        if item.item == refusal.item:
            return f"{item.number}. {item.title}: {refusal.message}"
    return f"{refusal.item}: {refusal.message}"
