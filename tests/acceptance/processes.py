"""Processes of a test: stopped, killed and never left behind."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from channels.child import Child
from tests.acceptance.eventually import eventually


class Process(NamedTuple):
    """A process of ours with its log."""

    child: Child
    log: Path

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.child.pid

    def said(self) -> str:
        """All that it has printed so far, on both streams."""
        return self.log.read_text(errors="replace")

    def wait(self, within: float = 60) -> int:
        """Its exit status, once it has ended."""
        eventually(lambda: self.child.ended_with is not None, within)
        assert self.child.ended_with is not None
        return self.child.ended_with

    def kill(self) -> None:
        """kill -9."""
        send(self.pid, signal.SIGKILL)
        self.wait()

    def stop(self) -> None:
        """Hold it where it is."""
        send(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        send(self.pid, signal.SIGCONT)


def send(pid: int, number: signal.Signals) -> None:
    """Send one process a signal."""
    os.kill(pid, number)


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it is no corpse that nobody has read."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def end_all_with(setting: str) -> None:
    """End every process with this setting in its environment: a worker starts some."""
    wanted = setting.encode()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and _has(entry, wanted):
                send(int(entry.name), signal.SIGKILL)


def _has(entry: Path, setting: bytes) -> bool:
    return setting in (entry / "environ").read_bytes().split(b"\0")
