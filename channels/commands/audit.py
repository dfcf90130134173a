"""`placet audit`: the trail, and whether it is whole."""

from channels import output
from channels.commands.common import JsonFlag, service
from policies.value import Json


def show(reference: str, *, json: JsonFlag = False) -> None:
    """The path and trail of a request.

    Parameters
    ----------
    reference
        A workflow id, an item id, or the Message-ID of what was sent.
    """
    serving = service()
    path = serving.path_of(reference)
    events = serving.trail(reference)
    if json:
        output.document({"path": path, "events": events})
        return
    _tell_path(path)
    rows = [(e.seq, e.at, e.event, _told(e.facts)) for e in events]
    output.table(path["workflow_id"], ("#", "at", "event", "facts"), rows)


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


def _tell_path(path: dict[str, object]) -> None:
    output.say(
        f"{path['workflow_id']} ({path['status']}): {path['domain']} for "
        f"{path['requested_by']}, tenant {path['tenant']}"
    )
    for item in path["items"]:  # type: ignore[attr-defined]
        output.say(f"  {item['action']} {item['tool']} ({item['state']})")
        for version in item["versions"]:
            output.say(f"    v{version['version']} by {version['made_by']}: ")
            output.say(f"      payload  {version['payload_hash']}")
            for evidence in version["evidence"]:
                output.say(f"      evidence {evidence['ref']}")
            made = version["made_from"]
            if made:
                output.say(f"      drafted by {made['model']} ({made['provider']})")
                output.say(f"      from     {made['user_input']['ref']}")
        for verdict in item["verdicts"]:
            output.say(
                f"    {verdict['verdict']} v{verdict['version']} by "
                f"{verdict['reviewer']} ({verdict['channel']}) at {verdict['at']}"
            )
        for execution in item["executions"]:
            output.say(
                f"    {execution['outcome']} v{execution['version']} "
                f"{execution['provider_ref']} at {execution['at']}"
            )


_LONG = ("intent", "evidence")


def _told(facts: dict[str, Json]) -> str:
    """An event's facts in a few words; `--json` tells all."""
    return ", ".join(f"{k}={v}" for k, v in facts.items() if k not in _LONG)
