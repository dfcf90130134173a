"""An HTTP provider of external effects, from the environment or a Block."""

from ipaddress import ip_address
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)

from blocks.provider import Promise


def _check_base(url: str) -> str:
    """An origin with or without a path; nothing secret, nothing that a path ends."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http or https address")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must hold no user, query or fragment")
    return url.rstrip("/")


class HttpSettings(BaseModel):
    """Where operations are sent, and what that server keeps.

    What is declared here is relied on: a promise that the server does not keep can
    make an effect happen twice.
    """

    # An error of validation must not show the token.
    model_config = ConfigDict(hide_input_in_errors=True)

    base_url: Annotated[str, AfterValidator(_check_base)] = Field(
        description="Address that every operation's path is appended to."
    )
    token: SecretStr | None = Field(
        default=None,
        description="Bearer token; sent over https, or to this machine, only.",
    )
    timeout_seconds: float = Field(
        default=60,
        gt=0,
        description="How long one answer may take. Too short a time leaves effects "
        "with an unknown outcome.",
    )
    dedupes: bool = Field(
        default=False,
        description="The server knows an Idempotency-Key that it has seen, and does "
        "nothing a second time.",
    )
    refuses_conflicts: bool = Field(
        default=False,
        description="The same key with other bytes is refused.",
    )
    keeps_keys_seconds: float | None = Field(
        default=None,
        gt=0,
        description="For how long the server knows a key; empty for ever.",
    )
    looks_up: bool = Field(
        default=False,
        description="The server tells what became of a key: 200 it happened, 404 it "
        "did not, and 404 for no other cause.",
    )
    settles_seconds: float = Field(
        default=0,
        ge=0,
        description="How long after an answer failed to come the effect may still come "
        "about; needed where the server tells what became of a key.",
    )

    @model_validator(mode="after")
    def _token_is_safe(self) -> Self:
        token = "" if self.token is None else self.token.get_secret_value()
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("the token holds characters that no token has")
        parts = urlsplit(self.base_url)
        if token and parts.scheme != "https" and not _is_local(parts.hostname or ""):
            raise ValueError("a token is sent over https only")
        return self

    @model_validator(mode="after")
    def _late_arrivals_are_thought_of(self) -> Self:
        """What did not happen is believed once nothing can arrive any more."""
        if self.looks_up and not self.settles_seconds:
            raise ValueError(
                "a server that looks up needs settles_seconds: until then a send may "
                "still arrive"
            )
        return self

    @property
    def promise(self) -> Promise:
        """What the server is declared to keep."""
        return Promise(
            dedupes=self.dedupes,
            refuses_conflicts=self.refuses_conflicts,
            keeps_keys_seconds=self.keeps_keys_seconds,
            looks_up=self.looks_up,
            settles_seconds=self.settles_seconds,
        )


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
