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

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self.child.ended_with is not None

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


def is_gone(pid: int) -> bool:
    """Whether there is no such process, or only a corpse that nobody has buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def end_all_with(setting: str) -> None:
    """End every process with this setting in its environment: a worker starts some."""
    for pid in running_with(setting):
        with suppress(ProcessLookupError):
            send(pid, signal.SIGKILL)


def running_with(setting: str) -> list[int]:
    """The processes with this setting in their environment."""
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [int(entry.name) for entry in entries if _has(entry, setting.encode())]


def _has(entry: Path, setting: bytes) -> bool:
    try:
        return setting in (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
