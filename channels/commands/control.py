"""`placet resolve`, `rolled-back`, `freeze`, `unfreeze` and `freezes`."""

from typing import Annotated, Literal

from cyclopts import Parameter

from blocks.control import By
from blocks.ledger.freezes import Scope
from channels import naming, outcomes, output
from channels.commands.common import As, JsonFlag, service, token
from channels.outcomes import Settled
from channels.refusals import token_explained
from channels.service import TERMINAL, Service
from policies.reason import MAX_REASON, MAX_REFERENCE
from tasks import unsettled

Why = Annotated[
    str,
    Parameter(
        name="--reason",
        help=f"Why, in at most {MAX_REASON} characters; it is recorded.",
    ),
]
Item = Annotated[
    str | None, Parameter(name="--item", help="Which item, where several qualify.")
]
Tenant = Annotated[
    str | None,
    Parameter(
        name="--tenant",
        help="Only this tenant: main, or one that has a reviewer or a request. "
        "Without it every tenant.",
    ),
]
Tool = Annotated[
    str | None,
    Parameter(
        name="--tool", help="Only this tool of a registered domain; without it all."
    ),
]


def resolve(
    workflow: str,
    outcome: Literal["happened", "not-happened"],
    *,
    reviewer: As,
    reason: Why,
    item: Item = None,
    json: JsonFlag = False,
) -> None:
    """Settle an unknown outcome that no provider can tell.

    Parameters
    ----------
    workflow
        The request whose outcome is unknown.
    outcome
        What you found out: what happened is executed, what did not is tried again.
    """
    serving = service()
    of, meant = naming.request(serving.services, workflow)
    happened = outcome == "happened"
    with token_explained(reviewer):
        settled, run = serving.settle(
            of, _by(reviewer, reason), happened=happened, item=item or meant
        )
    left = unsettled.of_workflow(serving.services, of)
    if json:
        document = {"workflow_id": of, "item": settled, "run": run, "outcomes": left}
        output.document(document)
        return
    outcomes.tell_settled(Settled(of, settled, reviewer, happened, run, left))


def rolled_back(
    workflow: str,
    *,
    by: Annotated[
        str,
        Parameter(
            help=f"The operation that reversed it, at most {MAX_REFERENCE} characters; "
            "another one is a second reversal."
        ),
    ],
    reviewer: As,
    reason: Why,
    item: Item = None,
    json: JsonFlag = False,
) -> None:
    """Record that an executed action was reversed; this executes nothing.

    Parameters
    ----------
    workflow
        The request whose action was reversed.
    """
    services = service().services
    of, meant = naming.request(services, workflow)
    said = _by(reviewer, reason)
    with token_explained(reviewer):
        noted = services.control.roll_back(of, said, by, item or meant)
    if json:
        output.document({"workflow_id": of, "item": noted, "reversed_by": by})
        return
    output.say(f"{noted} is recorded as reversed by {by}.")


def freeze(
    *,
    reviewer: As,
    reason: Why,
    tenant: Tenant = None,
    tool: Tool = None,
    json: JsonFlag = False,
) -> None:
    """Stop every effect in a scope at once, until it is lifted.

    A reviewer, owner or manager may do so for their own tenant, and an admin for any;
    for every tenant at once it takes an admin or a manager. `placet freezes` lists
    what is frozen.
    """
    _set(service(), tenant, tool, _by(reviewer, reason), True, json)


def unfreeze(
    *,
    reviewer: As,
    reason: Why,
    tenant: Tenant = None,
    tool: Tool = None,
    json: JsonFlag = False,
) -> None:
    """Lift a freeze: what waited goes on, if its approval still stands.

    It lifts the freeze of exactly this scope. An owner or manager may do so for their
    own tenant, and an admin for any; for every tenant at once it takes an admin or a
    manager.
    """
    _set(service(), tenant, tool, _by(reviewer, reason), False, json)


def freezes(*, json: JsonFlag = False) -> None:
    """Every freeze that stands: of what, since when, by whom and why."""
    found = service().freezes()
    if json:
        output.document({"freezes": found})
        return
    if not found:
        output.say("Nothing is frozen.")
    for freeze in found:
        output.say(f"{freeze.told}.")


def _set(
    serving: Service,
    tenant: str | None,
    tool: str | None,
    by: By,
    frozen: bool,
    json: bool,
) -> None:
    scope = Scope(tenant=tenant, tool=tool)
    with token_explained(by.reviewer):
        serving.services.control.freeze(scope, by, frozen=frozen)
    if json:
        output.document({"frozen": frozen, "tenant": tenant, "tool": tool})
        return
    output.say(f"{scope.in_words} is {'frozen' if frozen else 'no longer frozen'}.")


def _by(reviewer: str, reason: str) -> By:
    return By(reviewer=reviewer, proof=token(), channel=TERMINAL, reason=reason)
