"""What became of effects, told to people; of what is not known, also what to type."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from blocks.prefect_runs import Woken
from channels import output
from tasks import unsettled
from tasks.unsettled import Outcome


class Settled(NamedTuple):
    """An outcome that a person has settled, and what became of its run."""

    workflow: str
    item: str
    reviewer: str
    happened: bool
    run: Woken
    left: tuple[Outcome, ...]
    """What is still not known of the same request."""


def tell(outcome: Outcome, to: Callable[[str], None] = output.say) -> None:
    """What is not known, how to find it, and the commands that settle it."""
    to(f"outcome  {outcome.item}  {outcome.action_type}  v{outcome.version}")
    for line in _facts(outcome):
        to(f"    {line}")
    tell_commands(outcome, to)


def tell_commands(outcome: Outcome, to: Callable[[str], None] = output.say) -> None:
    """Who settles it, and what they type."""
    if outcome.settled_by == "provider":
        again = unsettled.asked_again(outcome)
        to(f"    {again[0].upper()}{again[1:]}.")
        to("    A person who knows better may settle it:")
    else:
        to("    Find out there whether it happened, and record which:")
    for command in unsettled.commands(outcome):
        output.command(command, to)


def tell_all(status: dict[str, Any], to: Callable[[str], None] = output.say) -> None:
    """Every effect of a request, as its status has them."""
    for done in status["executions"]:
        if done["outcome"] != "unknown":
            to(f"  {done['action']} {_became(done)}")
    for lost in status["outcomes"]:
        tell(Outcome.model_validate(lost), to)


def tell_settled(settled: Settled) -> None:
    """What was recorded, and what follows from it by itself or by whom."""
    word = "executed" if settled.happened else "not happened"
    output.say(
        f"{settled.item} of {settled.workflow} is recorded as {word}, on "
        f"{settled.reviewer}'s word."
    )
    for line in _what_follows(settled):
        output.say(line)
    if settled.run.state in ("dead", "unreachable"):
        output.command(f"placet resume {settled.workflow}")
    for outcome in settled.left:
        tell(outcome)


def _what_follows(settled: Settled) -> Iterator[str]:
    run, again = settled.run, not settled.happened
    if run.state == "cancelled":
        yield f"Nothing more follows by itself: {run.detail}."
        return
    if run.state == "unreachable":
        yield f"Its run could not be woken: {run.detail}"
    if again:
        yield "It is sent once more, with the same key and bytes, if the guard lets it."
    else:
        yield "Nothing is sent again."
    if run.state == "woken":
        yield f"Its request goes on by itself: {run.detail}."
    elif run.state == "not waiting":
        yield f"Nothing is left to do by hand: {run.detail}."
    else:
        sends = "sends it and carries the request on" if again else "lets it go on"
        yield f"No process works on its request; this {sends} at once:"


def _became(done: dict[str, Any]) -> str:
    settled, outcome = done["settled"], done["outcome"]
    word = "did not happen" if outcome == "retry_ready" else outcome
    back = f"; reversed by {done['reversed_by']}" if done["reversed_by"] else ""
    if settled is None:
        return f"{word}: {done['detail']}{back}"
    return f"{word}: settled by {settled['by']}: {settled['reason']}{back}"


def _facts(outcome: Outcome) -> Iterator[str]:
    yield f"Whether it happened is not known since {_minute(outcome)}."
    if outcome.recipient:
        yield f"to {outcome.recipient}"
    yield f"reference {outcome.provider_ref}"
    if outcome.detail:
        yield outcome.detail


def _minute(outcome: Outcome) -> str:
    return f"{outcome.since:%Y-%m-%d %H:%M} UTC"
