"""`placet audit`: the trail, and whether it is whole."""

from collections.abc import Iterator
from json import dumps
from typing import Annotated, Any

from cyclopts import Parameter

from blocks.ledger.audit import ADMIN_CHAIN
from channels import output, trail_view
from channels.commands.common import JsonFlag, service
from policies.value import Json


def show(
    reference: str,
    *,
    full: Annotated[
        bool, Parameter(negative="", help="Every fact of every event.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """The path and trail of a request: time, event, who, and what.

    Parameters
    ----------
    reference
        A workflow, item or operation id, or the Message-ID of what was sent; or `admin`
        for the trail of people, keys and policies.
    """
    serving = service()
    events = serving.trail(reference)
    # What belongs to no request has no path.
    of_request = not events or events[0].chain != ADMIN_CHAIN
    path = serving.path_of(reference) if of_request else None
    if json:
        output.document({"path": path, "events": events})
        return
    if path is not None:
        _tell_path(path)
    if full:
        for event in events:
            output.entry(event.seq, event.at, event.event, details=_told(event.facts))
    else:
        trail_view.tell(events)
        output.say("Every fact of every event: --full, or --json.")


def verify(*, json: JsonFlag = False) -> int:
    """Check every chain; ends 1 and names the first bad event if one was altered."""
    count, fault = service().verify()
    if json:
        output.document({"events": count, "intact": fault is None, "fault": fault})
    elif fault is None:
        output.say(f"{count} events, every chain is intact.")
        output.say(
            "Artifacts are checked against their digests whenever they are read."
        )
    else:
        place = f"{fault.chain}, event {fault.seq}" if fault.seq else fault.chain
        output.say(f"Broken: {place}: {fault.problem}.")
    return 0 if fault is None else 1


def _tell_path(path: dict[str, Any]) -> None:
    output.entry(
        path["workflow_id"],
        path["status"],
        details=[
            f"{path['domain']} for {path['requested_by']}, tenant {path['tenant']}"
        ],
    )
    for item in path["items"]:
        output.entry(item["item"], item["action"], item["tool"], item["state"])
        for version in item["versions"]:
            output.entry(
                f"  v{version['version']} by {version['made_by']}",
                details=_made_of(version),
            )
        for said in item["verdicts"]:
            output.entry(
                f"  {said['verdict']} v{said['version']} by {said['reviewer']}",
                details=[f"{said['channel']}, {said['at']}"],
            )
        for done in item["executions"]:
            output.entry(
                f"  {done['outcome']} v{done['version']}",
                details=[f"{done['provider_ref']} at {done['at']}"],
            )
        for act in item["settled"]:
            _tell_act(act)


def _tell_act(act: dict[str, Any]) -> None:
    """Who settled an outcome that was not known, or noted a reversal; when and why."""
    what = f"settled as {act['outcome']}" if "outcome" in act else "reversed"
    details = [f"{act['method']}, {act['at']}"]
    reference = act.get("rollback_reference")
    details += [f"by {reference}"] if reference else []
    details += [f"reason: {act['reason']}"] if act["reason"] else []
    output.entry(
        f"  {what} v{act['payload_version']} by {act['actor']}", details=details
    )


def _made_of(version: dict[str, Any]) -> Iterator[str]:
    yield f"payload {version['payload_hash']}"
    for evidence in version["evidence"]:
        yield f"evidence {evidence['ref']}"
    made = version["made_from"]
    if made:
        yield f"drafted by {made['model']} ({made['provider']})"
        yield f"from {made['user_input']['ref']}"


_LONG = ("intent", "evidence")


def _told(facts: dict[str, Json]) -> list[str]:
    """An event's facts, those that there are; `--json` tells all."""
    return [
        f"{name}: {_words(value)}"
        for name, value in facts.items()
        if name not in _LONG and value not in (None, "", [], {})
    ]


def _words(value: Json) -> str:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False)
