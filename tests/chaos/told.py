"""A process of ours that is told what to do by lines, and dies by kill -9 alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Told:
    """`python -m MODULE`, told by its input; it speaks to `FILE.out` and `FILE.err`."""

    def __init__(self, module: str, file: Path, env: Mapping[str, str]) -> None:
        self.out, self.err = file.with_suffix(".out"), file.with_suffix(".err")
        self._offset = 0
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module],
                cwd=ROOT,
                env=env,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                text=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_dead(self) -> bool:
        """Whether it has ended."""
        return self.ended_with is not None

    @property
    def ended_with(self) -> int | None:
        """Its exit status, negative if a signal ended it; None while it runs."""
        return self._process.poll()

    def tell(self, **line: Any) -> bool:
        """One line for it; False if it is dead."""
        assert self._process.stdin is not None
        if self.is_dead:
            return False
        try:
            print(json.dumps(line), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return False
        return True

    def said(self) -> Iterator[str]:
        """The whole lines that it has said since the last look."""
        with self.out.open() as file:
            file.seek(self._offset)
            text = file.read()
        whole = text[: text.rfind("\n") + 1]
        self._offset += len(whole.encode())
        yield from whole.splitlines()

    def kill(self) -> None:
        """kill -9, if it still runs."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            # What was told last found nobody to read it.
            return
