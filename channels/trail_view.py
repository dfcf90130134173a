"""A trail for people: one event a line, with who and what; `--json` has every fact."""

import textwrap
from collections.abc import Iterable, Iterator

from blocks.ledger.audit import Event
from channels import output
from policies.value import Json

_WHO = ("actor", "chosen_by", "owner")
# What says most of an event comes first; an event has few of these.
_WHAT = (
    *("decision", "verdict", "tool", "step", "interaction", "request_id", "reviewer"),
    *("code", "cause", "status", "outcome", "provider_ref", "rollback_reference"),
    *("moment", "state", "taken_from", "reasons", "detail", "reason", "records"),
)
_LONGEST = 140


def tell(events: Iterable[Event]) -> None:
    """Print every event; the day stands above those of a day."""
    day = ""
    for event in events:
        if event.at[:10] != day:
            day = event.at[:10]
            output.say(f"{day} UTC")
        words = (f"{event.seq:>3}", event.at[11:19], event.event, *_facts(event.facts))
        output.say("  ".join(words))


def _facts(facts: dict[str, Json]) -> Iterator[str]:
    who = next((facts[name] for name in _WHO if facts.get(name)), None)
    if who is not None:
        yield str(who)
    if facts.get("action"):
        yield f"{facts['action']} v{facts.get('payload_version')}"
    told = dict.fromkeys(filter(None, (_words(facts.get(name)) for name in _WHAT)))
    if told:
        yield textwrap.shorten("; ".join(told), _LONGEST, placeholder=" …")


def _words(value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_words, value)))
    if isinstance(value, dict):
        # The guard's reasons have a code each.
        return str(value.get("code", ""))
    told = "" if value is None else str(value)
    return "" if told.startswith("sha256:") else told
