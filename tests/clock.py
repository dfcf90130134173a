"""A clock that tests move."""

from datetime import UTC, datetime, timedelta

START = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)


class Clock:
    """Stands where it was set, but for a microsecond each time it is looked at."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The moment, never the same one twice."""
        self.now += timedelta(microseconds=1)
        return self.now

    def move(self, seconds: float) -> None:
        """Let so many seconds go by."""
        self.now += timedelta(seconds=seconds)

    def set(self, moment: datetime) -> None:
        """Let it be this moment, at the next look just after it."""
        self.now = moment
