"""`placet queue`, `show`, `decide`, `decide-plan` and `answer`."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter, validators
from pydantic import ValidationError

from blocks.ledger.freezes import Freeze
from blocks.ledger.items import Item
from channels import documents, naming, outcomes, output
from channels.commands.common import As, JsonFlag, read_json_file, service, token
from channels.frozen import over_items
from channels.packet_view import print_packet
from channels.service import TERMINAL, Decided, Shown
from policies import canonical, lifecycle
from policies.errors import InvalidInput
from policies.interaction import Interaction
from policies.lifecycle import State
from policies.plan import ItemVerdict, PlanReviewResult
from policies.policy import RiskLevel
from policies.problems import problems_of
from policies.value import Json
from tasks import unsettled

Number: TypeAlias = Annotated[
    int, Parameter(validator=validators.Number(gte=1, lt=2**31))
]
"""A version's number, as the ledger counts them."""


def queue(
    *,
    state: State | None = None,
    risk: RiskLevel | None = None,
    json: JsonFlag = False,
) -> None:
    """What waits: items for a verdict in priority order, questions, and outcomes to
    settle.

    Parameters
    ----------
    state
        Only items in this state, also ones that are no longer open.
    risk
        Only items of this level.
    """
    if state is not None and state not in set(State):
        raise InvalidInput(
            f"{state!r} is not a state of an item.",
            code="unknown_state",
            hint=f"One of: {', '.join(State)}.",
        )
    serving = service()
    found = serving.queue(state, risk)
    everything = state is None and risk is None
    # A question has neither state nor risk, an outcome only one state.
    asked = serving.questions() if everything else ()
    settles = everything or (state == State.EXECUTION_UNKNOWN and risk is None)
    lost = unsettled.for_people(serving.services) if settles else ()
    standing = serving.freezes()
    if json:
        over = over_items(standing, found)
        output.document(documents.of_queue(found, asked, lost, over))
        return
    if not (found or asked or lost):
        output.say("Nothing waits." if state is None else f"No item is {state}.")
    for item in found:
        _tell_item(item, over_items(standing, (item,)))
    for workflow, question in asked:
        _tell_question(workflow, question)
    if lost:
        output.say("Outcomes to settle: nobody knows whether these happened.")
    for outcome in lost:
        outcomes.tell(outcome)


def show(item: str, *, version: Number | None = None, json: JsonFlag = False) -> None:
    """An item's packet, at its present version or an earlier one.

    Parameters
    ----------
    item
        The item's id, as `placet queue` lists it.
    version
        An earlier version; without it, the present one.
    """
    serving = service()
    shown = serving.show(naming.item(serving.services, item), version)
    if json:
        output.document(documents.of_shown(shown))
        return
    print_packet(shown.packet)
    for line in _standing(shown):
        output.say(line)
    if shown.item.state in lifecycle.OPEN and not shown.overdue:
        output.say("To decide:")
        output.command(_decide(shown))


def _tell_item(item: Item, frozen: tuple[Freeze, ...]) -> None:
    told = [item.summary, f"Decide by {_minute(item.deadline)}."]
    if item.state not in lifecycle.OPEN:
        told = [item.summary]
    told += [f"{freeze.told}." for freeze in frozen]
    risk = f"{item.risk_level} risk"
    output.entry(
        "approval", item.id, risk, f"v{item.version}", item.state, details=told
    )


def _tell_question(workflow: str, question: Interaction) -> None:
    left_open = "" if question.required else " It may be left open."
    output.entry(
        "question",
        question.id,
        f"of {workflow}",
        details=(
            question.question + left_open,
            *(f"{option.value}: {option.label}" for option in question.options),
        ),
    )
    output.command(f"placet answer {workflow} {question.id} VALUE --as YOU")


def _standing(shown: Shown) -> Iterator[str]:
    """Where an item is, what was said of it, and how it is decided."""
    item = shown.item
    yield f"State: {item.state}."
    for freeze in shown.frozen:
        yield f"{freeze.told}."
    if shown.overdue:
        yield "Its time to be decided is over."
    if item.expires_at is not None:
        yield f"The approval lasts until {_minute(item.expires_at)}."
    for said in shown.verdicts:
        why = f": {said['reason']}" if said["reason"] else ""
        yield f"{said['verdict']} v{said['version']} by {said['reviewer']}{why}"


def _decide(shown: Shown) -> str:
    now = shown.packet.items[0]
    return (
        f"placet decide {shown.item.id} approve --as YOU "
        f"--version {now.payload.version} --snapshot {canonical.short(now.snapshot)}"
    )


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def decide(
    item: str,
    verdict: Literal["approve", "reject", "edit", "withdraw"],
    *,
    reviewer: As,
    version: Number,
    snapshot: str,
    reason: str = "",
    edit: Path | None = None,
    json: JsonFlag = False,
) -> None:
    """Record a verdict on what you saw, and wake the run.

    Parameters
    ----------
    item
        The item's id, as `placet queue` lists it.
    verdict
        What you say; an edit makes a new version that waits for a verdict again.
    version
        The version that you judged.
    snapshot
        The digest shown with it, whole or its first 8 characters.
    reason
        Required to reject or withdraw.
    edit
        A JSON file with the fields to change, for `edit`.
    """
    if verdict == "edit" and edit is None:
        raise InvalidInput(
            "An edit needs the fields to change.",
            code="edit_missing",
            hint="Give them by --edit FILE: a JSON object with a new value for each.",
        )
    serving = service()
    said = ItemVerdict(
        item=naming.item(serving.services, item),
        verdict=verdict,
        version=version,
        snapshot=_snapshot(item, snapshot),
        reason=reason,
        edit=None if edit is None else _fields(edit),
    )
    done = serving.decide(reviewer, token(), said, TERMINAL)
    _tell(naming.request(serving.services, said.item).workflow, done, json)


def decide_plan(
    workflow: str, review: Path, *, reviewer: As, json: JsonFlag = False
) -> None:
    """Record a verdict for every open item of a round: all of them, or none.

    Parameters
    ----------
    workflow
        The request's workflow id.
    review
        A JSON file: {"verdicts": [{"item", "verdict", "version", "snapshot", …}]}.
    """
    try:
        result = PlanReviewResult.model_validate(read_json_file(review))
    except ValidationError as error:
        found = "; ".join(problems_of(error, "the review"))
        raise InvalidInput(f"{review}: {found}.") from error
    serving = service()
    of = naming.request(serving.services, workflow).workflow
    done = serving.decide_plan(of, reviewer, token(), result, TERMINAL)
    _tell(of, done, json)


def answer(
    workflow: str, interaction: str, value: str, *, reviewer: As, json: JsonFlag = False
) -> None:
    """Answer a question that a request has put.

    Parameters
    ----------
    workflow
        The request's workflow id.
    interaction
        The question's id, as `placet queue` lists it.
    value
        The answer; where there are options, the value of one.
    """
    serving = service()
    of = naming.request(serving.services, workflow).workflow
    done = serving.answer(of, interaction, value, reviewer, token(), TERMINAL)
    _tell(of, done, json)


def _snapshot(item: str, text: str) -> str:
    if len(text) < 8:
        raise InvalidInput(
            "A snapshot is given whole, or by its first 8 characters.",
            code="invalid_snapshot",
            hint=f"`placet show {item}` tells it.",
        )
    return text


def _fields(path: Path) -> dict[str, Json]:
    fields = read_json_file(path)
    if not isinstance(fields, dict):
        raise InvalidInput(f"{path}: an edit is a JSON object of fields.")
    return fields


def _tell(workflow: str, done: Decided, as_json: bool) -> None:
    if as_json:
        output.document(documents.of_decided(done))
        return
    for recorded in done.taken.recorded:
        output.say(
            f"{recorded.item}: {recorded.verdict} (decision {recorded.decision_id}); "
            f"it is {recorded.state} at version {recorded.version} now."
        )
    for question in done.taken.answered:
        output.say(f"{question}: answered.")
    if done.run.state in ("dead", "unreachable"):
        output.say(f"It is recorded; the run could not be woken: {done.run.detail}")
        output.say("If it does not go on by itself:")
        output.command(f"placet resume {workflow}")
