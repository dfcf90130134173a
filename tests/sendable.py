"""An operation as a provider is handed it, without a gate."""

from collections.abc import Callable

from policies.value import Json


def always() -> None:
    """Whoever asks may send."""


class Ready:
    """May be sent as long as `may` does not raise."""

    def __init__(
        self,
        key: str,
        body: bytes,
        envelope: dict[str, Json],
        may: Callable[[], None] = always,
    ) -> None:
        self.key = key
        self.envelope = envelope
        self._body = body
        self._may = may

    def take_body(self) -> bytes:
        """The bytes."""
        return self._body

    def confirm(self) -> None:
        """What the test says."""
        self._may()
