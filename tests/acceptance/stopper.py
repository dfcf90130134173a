"""`placet` in a process that kills or stops itself at a recovery point.

`python -m tests.acceptance.stopper POINT ACTION [FILE] -- ARGUMENTS` runs `placet
ARGUMENTS`. ACTION is `kill` (kill -9) or `stop` (SIGSTOP). It happens the first time
that POINT is reached, or with FILE the first time after that file has come to be.
"""

import os
import signal
import sys
from pathlib import Path

from blocks import recovery
from blocks.recovery import Point
from channels import command

ACTIONS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


def main(tokens: list[str]) -> int:
    """Run the command; its exit code, if it lives that long."""
    cut = tokens.index("--")
    (point, action, *awaited), arguments = tokens[:cut], tokens[cut + 1 :]
    act_at(Point(point), ACTIONS[action], *map(Path, awaited))
    return command.run(arguments)


def act_at(point: Point, number: signal.Signals, awaited: Path | None = None) -> None:
    """Have this process send itself the signal at the point, once."""

    def act(reached: Point) -> None:
        if reached == point and (awaited is None or awaited.exists()):
            recovery.at_point = recovery.go_on
            os.kill(os.getpid(), number)

    recovery.at_point = act


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
