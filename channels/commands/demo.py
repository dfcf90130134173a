"""`placet demo`: the main job, end to end, on this machine."""

from pathlib import Path

from rich.console import Console

from channels import output
from channels.commands.common import JsonFlag, warn_of_unknown_settings
from channels.demo import Demo
from channels.demo_screen import Screen
from channels.demo_script import Answer


def demo(
    *,
    answers: Answer | None = None,
    ticket: Path | None = None,
    json: JsonFlag = False,
) -> int:
    """From a ticket to a mail that is exactly what you approved.

    Starts a Prefect server, a mail server and a request on this machine, and stops them
    again. Ctrl-C keeps the request open; the next demo goes on with it.

    Parameters
    ----------
    answers
        Decide by script instead of asking a person.
    ticket
        A JSON file with one ticket of your own, and its customer.
    """
    warn_of_unknown_settings()
    # With --json, what people read is no part of the answer.
    screen = Screen(Console(highlight=False, stderr=json))
    ending = Demo(screen, answers).run(ticket)
    if json:
        output.document(ending)
    return 1 if ending.status in ("failed", "unknown") else 0
