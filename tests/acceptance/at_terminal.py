"""A command with a person in front of it: a pseudo-terminal, typed at and read."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"
_ROWS, _COLUMNS = 50, 160
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*([A-Za-z]|\Z)|\x1b\Z")
# A terminal of its own, so that Ctrl-C reaches the command and nobody else.
_START = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "channels", *sys.argv[1:]])
"""


class AtTerminal:
    """`placet TOKENS` in a terminal; ended with the block, however it stands."""

    def __init__(self, *tokens: str, env: Mapping[str, str]) -> None:
        self.screen, command_side = pty.openpty()
        size = struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0)
        fcntl.ioctl(command_side, termios.TIOCSWINSZ, size)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, *tokens],
            stdin=command_side,
            stdout=command_side,
            stderr=command_side,
            env=env,
            start_new_session=True,
        )
        os.close(command_side)
        self.raw = ""
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self.screen)

    @property
    def pid(self) -> int:
        """The command's process id."""
        return self._process.pid

    def see(self, words: str, within: float = 60) -> str:
        """All that was printed since the last look, up to these words."""
        end = time.monotonic() + within
        while words not in (new := plain(self.raw)[self._read :]):
            left = end - time.monotonic()
            assert left > 0 and self._take(left), f"no {words!r} in:\n{new}"
        seen = new[: new.index(words) + len(words)]
        self._read += len(seen)
        return seen

    def type(self, text: str, then: str = ENTER) -> None:
        """Type a line, or with another `then` just these keys."""
        os.write(self.screen, (text + then).encode())

    def ended(self, within: float = 60) -> int:
        """Its exit status, once it has ended."""
        while self._take(within):
            pass
        return self._process.wait(within)

    def kill(self) -> None:
        """kill -9, of this process alone."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.wait()

    def _take(self, seconds: float) -> bool:
        """Read what comes; False once nobody is at the other side."""
        ready, _, _ = select.select([self.screen], [], [], seconds)
        try:
            data = os.read(self.screen, 65536) if ready else b""
        except OSError:
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)


def plain(raw: str) -> str:
    """What a terminal shows, without colours and movements of its cursor."""
    return _ESCAPES.sub("", raw).replace("\r\n", "\n")
