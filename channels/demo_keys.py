"""Single keys from a terminal, without an echo; Ctrl-C stays what it is."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager


class Keys:
    """Keys as they are pressed, where standard input is a terminal."""

    def __init__(self) -> None:
        self.there = sys.stdin.isatty()

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Take keys one by one until the block ends."""
        if not self.there:
            yield
            return
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal)
            yield
        finally:
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)

    def next(self, seconds: float) -> str:
        """The next key, or nothing if none is pressed in that time."""
        if not self.there:
            time.sleep(seconds)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return os.read(sys.stdin.fileno(), 1).decode("latin-1") if ready else ""
