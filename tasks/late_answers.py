"""What Prefect took on a form that no wait has read, when its request ends.

It is recorded as a verdict, or as a refusal with its reason, and deleted from Prefect.
"""

from blocks import prefect_forms
from blocks.desk import HandedIn
from blocks.ledger import audit, questions, rounds, sessions
from blocks.ledger.people import CodeProof
from blocks.ledger.rounds import PauseRow
from blocks.prefect_forms import FormAnswer
from policies import form as forms
from policies.access import Channel
from policies.errors import Misconfigured, Unavailable
from policies.form import Form, Submission
from policies.visible import make_visible
from tasks.services import Services

PREFECT_FORM = Channel(name="prefect form", method="one-time code", signed_in=False)
_SHOWN_OF_A_NAME = 100


def read_left(services: Services, workflow: str) -> int:
    """Record every answer that was left unread; how many there were.

    Where Prefect does not answer, or the seeds cannot be read, they stay unread, and
    the supervisor comes back.
    """
    with services.ledger.read() as tx:
        pauses = rounds.unread_pauses(tx, workflow)
    try:
        return sum(_read(services, workflow, pause) for pause in pauses)
    except (Unavailable, Misconfigured):
        return 0


def _read(services: Services, workflow: str, pause: PauseRow) -> bool:
    try:
        answer = prefect_forms.read_last(pause)
    except LookupError:
        # It may be another server's; without its run nothing is lost by waiting.
        return False
    if answer is not None:
        take(services, workflow, answer)
    with services.ledger.write() as tx:
        rounds.end_pause(tx, workflow, pause.key)
    if answer is not None:
        prefect_forms.forget(pause)
    return answer is not None


def take(services: Services, workflow: str, answer: FormAnswer) -> None:
    """Record one answer as what it is by now."""
    said = forms.read_answer(_form(services, workflow), answer.values)
    if said.code and (said.verdicts or said.answers) and not said.outdated:
        proof = CodeProof(code=said.code, submitted_at=answer.sent_at)
        handed = HandedIn(
            workflow=workflow,
            reviewer=said.reviewer,
            proof=proof,
            channel=PREFECT_FORM,
            verdicts=said.verdicts,
            answers=said.answers,
        )
        services.desk.hand_in(handed)
        return
    code = "stale_version" if said.outdated else "request_closed"
    refuse(services, workflow, said, code if said.code else "wrong_proof")


def _form(services: Services, workflow: str) -> Form:
    with services.ledger.read() as tx:
        shown = sessions.load_state(tx, workflow).review_packet
        asked = tuple(a.question for a in questions.of_workflow(tx, workflow))
    return forms.form_of(shown.items if shown else (), asked)


def refuse(services: Services, workflow: str, said: Submission, code: str) -> None:
    """Keep in the trail that an answer was not taken, and why."""
    with services.ledger.write() as tx:
        audit.append(
            tx,
            workflow,
            "answer_refused",
            actor=make_visible(said.reviewer[:_SHOWN_OF_A_NAME]),
            role=None,
            channel=PREFECT_FORM.name,
            method=PREFECT_FORM.method,
            reasons=[{"about": "the form", "code": code}],
        )
