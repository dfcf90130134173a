"""`placet queue`, `show`, `decide`, `decide-plan` and `answer`."""

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import ValidationError

from channels import output
from channels.commands.common import As, JsonFlag, read_json_file, service, token
from channels.packet_view import print_packet
from channels.service import TERMINAL, Decided
from policies import canonical
from policies.errors import InvalidInput
from policies.lifecycle import State
from policies.plan import ItemVerdict, PlanReviewResult
from policies.policy import RiskLevel
from policies.value import Json


def queue(
    *,
    state: State | None = None,
    risk: RiskLevel | None = None,
    json: JsonFlag = False,
) -> None:
    """Open items in priority order.

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
    found = service().queue(state, risk)
    if json:
        output.document({"items": found})
        return
    if not found:
        output.say("No item waits." if state is None else f"No item is {state}.")
        return
    rows = [
        (
            item.id,
            item.risk_level,
            item.state,
            f"v{item.version}",
            f"{item.deadline:%Y-%m-%d %H:%M} UTC",
            item.summary,
        )
        for item in found
    ]
    columns = ("item", "risk", "state", "version", "decide by", "what")
    output.table("Items", columns, rows)


def show(item: str, *, version: int | None = None, json: JsonFlag = False) -> None:
    """An item's packet, at its present version or an earlier one."""
    shown = service().show(item, version)
    if json:
        output.document(shown)
        return
    print_packet(shown.packet)
    output.say(f"State: {shown.item.state}.")
    item_now = shown.packet.items[0]
    output.say(
        f"To decide: placet decide {shown.item.id} approve --as YOU "
        f"--version {item_now.payload.version} "
        f"--snapshot {canonical.short(item_now.snapshot)}"
    )
    for verdict in shown.verdicts:
        output.say(
            f"{verdict['verdict']} v{verdict['version']} by {verdict['reviewer']}: "
            f"{verdict['reason'] or 'no reason given'}"
        )


def decide(
    item: str,
    verdict: Literal["approve", "reject", "edit", "withdraw"],
    *,
    reviewer: As,
    version: int,
    snapshot: str,
    reason: str = "",
    edit: Path | None = None,
    json: JsonFlag = False,
) -> None:
    """Record a verdict on what you saw, and wake the run.

    Parameters
    ----------
    version
        The version that you judged.
    snapshot
        The digest shown with it, whole or its first 8 characters.
    reason
        Required to reject or withdraw.
    edit
        A JSON file with the fields to change, for `edit`.
    """
    said = ItemVerdict(
        item=item,
        verdict=verdict,
        version=version,
        snapshot=_snapshot(snapshot),
        reason=reason,
        edit=None if edit is None else _fields(edit),
    )
    _tell(service().decide(reviewer, token(), said, TERMINAL), json)


def decide_plan(
    workflow: str, review: Path, *, reviewer: As, json: JsonFlag = False
) -> None:
    """Record a verdict for every open item of a round: all of them, or none.

    Parameters
    ----------
    review
        A JSON file: {"verdicts": [{"item", "verdict", "version", "snapshot", …}]}.
    """
    try:
        result = PlanReviewResult.model_validate(read_json_file(review))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"{review}: {place}: {first['msg']}.") from error
    serving = service()
    _tell(serving.decide_plan(workflow, reviewer, token(), result, TERMINAL), json)


def answer(
    workflow: str, interaction: str, value: str, *, reviewer: As, json: JsonFlag = False
) -> None:
    """Answer a question that a request has put."""
    serving = service()
    done = serving.answer(workflow, interaction, value, reviewer, token(), TERMINAL)
    _tell(done, json)


def _snapshot(text: str) -> str:
    if len(text) < 8:
        raise InvalidInput(
            "A snapshot is given by at least its first 8 characters.",
            code="invalid_snapshot",
        )
    return text


def _fields(path: Path) -> dict[str, Json]:
    fields = read_json_file(path)
    if not isinstance(fields, dict):
        raise InvalidInput(f"{path}: an edit is a JSON object of fields.")
    return fields


def _tell(done: Decided, as_json: Annotated[bool, Parameter(parse=False)]) -> None:
    if as_json:
        output.document(_document(done))
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
        output.say("`placet resume WORKFLOW` puts it back to work.")


def _document(done: Decided) -> dict[str, Any]:
    recorded = [r.model_dump(mode="json") for r in done.taken.recorded]
    single = recorded[0] if len(recorded) == 1 else {}
    return {
        **single,
        "recorded": recorded,
        "answered": list(done.taken.answered),
        "run": done.run.model_dump(),
    }
