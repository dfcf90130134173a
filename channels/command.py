"""The command `placet`. Each subcommand is imported only when it is run.

`placet --help` must answer at once, so nothing here imports Prefect or SQLAlchemy.
"""

import gc
import logging
import os
import sys
from importlib.metadata import version

from cyclopts import App, CycloptsError

from channels import output, usage
from policies.errors import InvalidInput, PlacetError

_COMMANDS = "channels.commands"

app = App(
    name="placet",
    help="Approval for AI agents: what was approved is what is executed, once.",
    version=lambda: version("placet"),
    version_flags=["--version"],
    exit_on_error=False,
    print_error=False,
)
_GROUPS = {
    "db": "The ledger's database.",
    "reviewers": "The people who decide.",
    "keys": "The secret key.",
    "audit": "The trail of every request.",
}
SUBCOMMANDS: tuple[tuple[str, str, str], ...] = (
    ("demo", "demo:demo", "The main job, end to end, on this machine."),
    ("db upgrade", "ledger:upgrade", "Migrate the ledger to the newest schema."),
    ("load", "ledger:load", "Put a domain's records into its tables."),
    ("reviewers add", "people:add", "Add a reviewer; prints token and seed once."),
    ("reviewers list", "people:everybody", "List the reviewers."),
    ("reviewers rotate", "people:rotate", "Give a reviewer a new token and seed."),
    ("reviewers revoke", "people:revoke", "Take away a reviewer's rights."),
    ("keys rotate", "people:rotate_keys", "Encrypt every seed with a new secret key."),
    ("submit", "requests:submit", "Start a request."),
    ("queue", "items:queue", "Open items in priority order."),
    ("show", "items:show", "An item's packet."),
    ("decide", "items:decide", "Record a verdict and wake the run."),
    ("decide-plan", "items:decide_plan", "Record a verdict for every item of a round."),
    ("answer", "items:answer", "Answer a question."),
    ("review", "review:review", "Review items one by one, here in the terminal."),
    ("status", "requests:status", "Where a request is and what it waits for."),
    ("resume", "requests:resume", "Put a request whose process died back to work."),
    ("resolve", "control:resolve", "Settle an outcome that no provider can tell."),
    ("rolled-back", "control:rolled_back", "Record that an action was reversed."),
    ("freeze", "control:freeze", "Stop every effect in a scope."),
    ("unfreeze", "control:unfreeze", "Lift a freeze."),
    ("freezes", "control:freezes", "What is frozen, by whom and why."),
    ("supervise", "supervise:supervise", "Look after what nobody waits for."),
    ("audit show", "audit:show", "A request's trail, by its id or a Message-ID."),
    ("audit verify", "audit:verify", "Check that no trail was altered."),
    ("canonical", "canonical:show", "The canonical bytes of a JSON file (RFC 8785)."),
)


def _register() -> None:
    groups = {name: App(name=name, help=text) for name, text in _GROUPS.items()}
    for group in groups.values():
        app.command(group)
    for words, target, text in SUBCOMMANDS:
        first, _, second = words.partition(" ")
        parent = groups[first] if second else app
        parent.command(f"{_COMMANDS}.{target}", name=second or first, help=text)


_register()


def main() -> None:
    """Run the command line; never shows a stack trace unless PLACET_DEBUG is set."""
    # What is imported stays: searching it for garbage while it grows takes a tenth of
    # the time in which a run comes to its pause.
    gc.set_threshold(50_000, 20, 20)
    sys.exit(run(sys.argv[1:]))


def run(tokens: list[str]) -> int:
    """Run one command; its exit code."""
    as_json = "--json" in tokens
    if not all(_is_text(token) for token in tokens):
        wrong = InvalidInput("An argument holds what is no text.", code="invalid_input")
        return output.fail(wrong, as_json)
    # Logs go to stderr and only what matters: stdout is the answer.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        result = app(tokens, result_action="return_value")
    except CycloptsError as error:
        return output.fail(usage.misused(app, error), as_json)
    except PlacetError as error:
        return output.fail(error, as_json)
    except KeyboardInterrupt:
        output.warn("placet: stopped.")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("PLACET_DEBUG"):
            raise
        return output.fail(_unexpected(error), as_json)
    return result if isinstance(result, int) else 0


def _is_text(token: str) -> bool:
    return all(sign.isprintable() or sign in "\t\r\n" for sign in token)


def _unexpected(error: Exception) -> PlacetError:
    told = " ".join(str(error).split())
    return PlacetError(
        f"Something unexpected happened: {type(error).__name__}: {told}",
        hint="Nothing half-done was kept. PLACET_DEBUG=1 shows where it happened.",
    )
