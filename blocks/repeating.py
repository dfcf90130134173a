"""Doing something again and again in a thread, as long as a block lasts."""

import threading
from collections.abc import Callable
from typing import Self


class Repeating:
    """Calls `do` every so many seconds until the block ends or `do` says False."""

    def __init__(self, do: Callable[[], bool], seconds: float) -> None:
        self._do = do
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            if not self._do():
                return
