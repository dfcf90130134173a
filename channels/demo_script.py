"""Decisions by script, through the same service that a person's words go through."""

from functools import partial
from typing import Literal, TypeAlias

from blocks.ledger.items import Item
from channels.demo_home import REVIEWER, Identity
from channels.demo_run import DemoRun
from channels.review_progress import Place, wait
from channels.service import TERMINAL, Service
from policies.errors import Unavailable
from policies.interaction import Interaction
from policies.plan import ItemVerdict
from policies.value import Json

Answer: TypeAlias = Literal["approve", "edit", "reject"]

_POSTSCRIPT = "PS: This line was added before the letter was approved."
_MOVE_WITHIN = 60.0


def decide_by_script(
    answer: Answer, run: DemoRun, service: Service, who: Identity
) -> None:
    """Decide whatever the request asks until it ends; `edit` edits, then approves."""
    while True:
        run.wait(lambda: run.is_closed() or run.is_asking())
        scene = None if run.is_closed() else run.scene()
        if scene is None:
            return
        for question in scene.questions:
            value = _reply(question)
            service.answer(
                run.workflow, question.id, value, REVIEWER, who.proof, TERMINAL
            )
        for item in scene.items:
            said = _verdict(answer, service, item)
            service.decide(REVIEWER, who.proof, said, TERMINAL)
        has_moved = partial(_has_moved, scene.interrupt)
        if not has_moved(wait(service, run.workflow, has_moved, _MOVE_WITHIN)):
            run.check_alive()
            raise Unavailable(
                "The run does not go on with what was decided.",
                code="run_stuck",
                hint=f"See {run.log}.",
            )


def _has_moved(interrupt: str, place: Place) -> bool:
    return not place.session.is_open or place.interrupt not in (None, interrupt)


def _verdict(answer: Answer, service: Service, item: Item) -> ItemVerdict:
    shown = service.show(item.id).packet.items[0]
    verdict: Answer = answer
    edit: dict[str, Json] | None = None
    if answer == "edit":
        body = next(f.value for f in shown.fields if f.name == "body")
        edited = str(body).endswith(_POSTSCRIPT)
        verdict = "approve" if edited else "edit"
        edit = None if edited else {"body": f"{body}\n\n{_POSTSCRIPT}"}
    return ItemVerdict(
        item=item.id,
        verdict=verdict,
        version=shown.payload.version,
        snapshot=shown.snapshot,
        reason="Rejected by the demo's script." if verdict == "reject" else "",
        edit=edit,
    )


def _reply(question: Interaction) -> str:
    """The first option, or words that say where they come from."""
    if question.options:
        return question.options[0].value
    return "answered by the demo's script"
