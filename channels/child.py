"""A Python module in a process of its own that lives no longer than its owner.

It runs in a session of its own, so that Ctrl-C reaches the owner first, and ends by
itself, with all that it started, when the pipe on its standard input closes, however
the owner died.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

STOP_WITHIN = 10.0

# Runs in the child: the thread ends the whole group once the owner's end is closed.
_CHILD = f"""
import os, runpy, signal, sys, threading, time

def end_with_owner():
    os.read(0, 1)
    os.killpg(0, signal.SIGTERM)
    time.sleep({STOP_WITHIN})
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_owner, daemon=True).start()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


class Child:
    """The process. Its output goes to `log`, which it overwrites."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        log: Path,
        cwd: Path,
        env: Mapping[str, str],
    ) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CHILD, module, *arguments],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Its process id, which is also its group's."""
        return self._process.pid

    @property
    def ended_with(self) -> int | None:
        """Its exit status, or None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """End it and all that it started, by force if it takes too long."""
        try:
            self._signal_group(signal.SIGTERM)
            self._process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._signal_group(signal.SIGKILL)
            self._process.wait()
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _signal_group(self, number: signal.Signals) -> None:
        # Once the child is reaped, its number may name somebody else's group.
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
