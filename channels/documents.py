"""What `--json` says of items: the fields of the ledger, each under a name of its own.

The whole policy and its gating part have a version each. A verdict is bound to the
gating part's, which stands in the intent as `policy_version`.
"""

from typing import Any

from blocks.ledger.freezes import Freeze
from blocks.ledger.items import Item
from channels.service import Decided, Shown
from policies.interaction import Interaction
from tasks.unsettled import Outcome

_NAMES = {
    "policy_version": "whole_policy_version",
    "gate_version": "gating_policy_version",
}


def of_item(item: Item) -> dict[str, Any]:
    """An item as one JSON object."""
    fields = item.model_dump(mode="json")
    return {_NAMES.get(name, name): value for name, value in fields.items()}


def of_shown(shown: Shown) -> dict[str, Any]:
    """An item with its packet, as a reviewer may see it."""
    return {
        "item": of_item(shown.item),
        "decision_state": shown.decision_state,
        "packet": shown.packet.model_dump(mode="json"),
        "verdicts": list(shown.verdicts),
        "frozen": [freeze.model_dump(mode="json") for freeze in shown.frozen],
    }


def of_queue(
    items: tuple[Item, ...],
    asked: tuple[tuple[str, Interaction], ...],
    outcomes: tuple[Outcome, ...],
    frozen: tuple[Freeze, ...],
) -> dict[str, Any]:
    """What waits; a question is named by its workflow and its id together.

    `frozen` are the freezes that stand over one of the items.
    """
    return {
        "frozen": [freeze.model_dump(mode="json") for freeze in frozen],
        "items": [of_item(item) for item in items],
        "questions": [
            {"workflow": workflow, **question.model_dump(mode="json")}
            for workflow, question in asked
        ],
        "outcomes": [outcome.model_dump(mode="json") for outcome in outcomes],
    }


def of_decided(done: Decided) -> dict[str, Any]:
    """What was recorded; a single verdict's fields stand at the top as well."""
    recorded = [r.model_dump(mode="json") for r in done.taken.recorded]
    single = recorded[0] if len(recorded) == 1 else {}
    return {
        **single,
        "recorded": recorded,
        "answered": list(done.taken.answered),
        "run": done.run.model_dump(),
    }
