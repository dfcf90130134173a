"""A mail server that is not to be relied on: every connection meets another mood."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from aiosmtpd.smtp import Envelope

from tests.chaos.plan import Mood
from tests.smtp_server import Behaviour, RecordingServer


class MoodyServer(RecordingServer):
    """Keeps every mail. `kill` is told the recipient when its sender is to die."""

    def __init__(self, moods: Iterator[Mood], kill: Callable[[str], None]) -> None:
        self.met: Counter[Mood] = Counter()
        self._moods = moods
        self._kill = kill
        self._of: WeakKeyDictionary[asyncio.Task[Any], Mood] = WeakKeyDictionary()
        super().__init__()

    @property
    def behaviour(self) -> Behaviour:
        """What this connection meets: each is one task of the server's loop."""
        mood = self._mood()
        return "hang_before_reply" if mood == "kill_sender" else mood

    @behaviour.setter
    def behaviour(self, value: Behaviour) -> None:
        """A mood is drawn, not set; the base class sets its default."""

    def keep(self, envelope: Envelope) -> None:
        """Record a mail; its sender may die before it hears of that."""
        super().keep(envelope)
        if self._mood() == "kill_sender":
            self._kill(envelope.rcpt_tos[0])

    def _mood(self) -> Mood:
        task = asyncio.current_task()
        assert task is not None
        if task not in self._of:
            self._of[task] = next(self._moods)
            self.met[self._of[task]] += 1
        return self._of[task]
