"""The port to whoever carries out an external effect, and what each one promises.

Placet promises no more than its provider keeps: what a provider does not declare is
never relied on.
"""

from typing import Literal, NamedTuple, Protocol, TypeAlias

from policies.value import Json, Value

AnswerKind: TypeAlias = Literal["accepted", "refused", "unknown"]
FindingKind: TypeAlias = Literal["happened", "did not happen", "can't tell"]


class Promise(Value):
    """What a provider keeps.

    `dedupes`: a key that it has seen has no second effect. `refuses_conflicts`: the
    same key with other bytes is refused. `keeps_keys_seconds`: for how long it knows a
    key; None is for ever. `looks_up`: it can tell what became of a key.
    `settles_seconds`: how long after a send was lost its effect may still come about.
    """

    dedupes: bool = False
    refuses_conflicts: bool = False
    keeps_keys_seconds: float | None = None
    looks_up: bool = False
    settles_seconds: float = 0


class Message(NamedTuple):
    """What is sent: the bytes, which are kept and sent again as they are, and to whom.

    `envelope` holds what the provider needs beside the bytes (addresses, a path).
    """

    body: bytes
    media_type: str
    envelope: dict[str, Json]


class Answer(Value):
    """What became of a send, as far as it is known; `said` goes into the record.

    `accepted`: the effect happened. `refused`: it certainly did not. `unknown`: either.
    """

    kind: AnswerKind
    detail: str
    provider_ref: str
    said: dict[str, Json]


class Finding(Value):
    """What a provider tells of an operation later."""

    kind: FindingKind
    detail: str
    provider_ref: str
    said: dict[str, Json]


class Sendable(Protocol):
    """One operation as a provider is handed it; the gate makes it."""

    @property
    def key(self) -> str:
        """What names it at the provider."""
        ...

    @property
    def envelope(self) -> dict[str, Json]:
        """What is needed beside the bytes."""
        ...

    def take_body(self) -> bytes:
        """The promised bytes, once."""
        ...

    def confirm(self) -> None:
        """To be called right before bytes go out, and before the last of them.

        `Superseded` where our lease has run out and others may settle what became of
        it: then nothing more may be sent, and what was begun must not come to its end.
        """
        ...


class Provider(Protocol):
    """Whoever carries out an external effect."""

    @property
    def promise(self) -> Promise:
        """What it keeps."""
        ...

    def send(self, operation: Sendable) -> Answer:
        """Hand over one operation's bytes. Never raises for what a server does."""
        ...

    def look_up(self, key: str, envelope: dict[str, Json]) -> Finding:
        """What became of an operation; never changes anything."""
        ...
