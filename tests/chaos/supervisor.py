"""`placet supervise` as a service that takes its turns sooner: `python -m` this module.

A line `{"die": N}` on its input says when to die. It ends with its input.
"""

import json
import os
import sys
from threading import Thread

from channels import command
from channels.commands import supervise
from tests.chaos.dying import die_before_statement

_EVERY_SECONDS = 1.5


def listen() -> None:
    """Do what the input says."""
    while line := sys.stdin.readline():
        die_before_statement(json.loads(line)["die"])
    os._exit(0)


if __name__ == "__main__":
    Thread(target=listen, daemon=True).start()
    supervise._EVERY_SECONDS = _EVERY_SECONDS
    sys.exit(command.run(["supervise"]))
