"""Encryption of what must be readable again: one-time-code seeds."""

import base64
import hashlib
import secrets
from functools import cached_property
from typing import TYPE_CHECKING

from policies.errors import Misconfigured

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

SHORTEST_KEY = 16
"""Characters; a random text of that length is beyond guessing."""
_HINT = (
    "It encrypts the seeds of one-time codes. Make one, once, with `openssl rand -hex "
    "32` and keep it: every process of this installation, and every shell that "
    "administers it, needs `export PLACET_SECRET_KEY=…` with the same one. (A demo's "
    "lies in its PLACET_HOME, in the file secret-key.)"
)


class Vault:
    """Seals and opens short texts with the secret key, which is never shown."""

    def __init__(self, secret_key: str | None) -> None:
        self._secret_key = secret_key

    def check(self) -> None:
        """`Misconfigured` if there is no key to work with, or a weak one."""
        if not self._secret_key:
            raise Misconfigured("PLACET_SECRET_KEY is not set.", hint=_HINT)
        if len(self._secret_key) < SHORTEST_KEY:
            raise Misconfigured(
                f"PLACET_SECRET_KEY is shorter than {SHORTEST_KEY} characters.",
                hint=_HINT,
            )

    def seal(self, text: str) -> str:
        """Encrypt."""
        return self._fernet.encrypt(text.encode()).decode()

    def open(self, sealed: str) -> str:
        """Decrypt; `Misconfigured` if the key is not the one it was sealed with."""
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise Misconfigured(
                "PLACET_SECRET_KEY is not the key that this ledger's one-time-code "
                "seeds were encrypted with.",
                hint="Set the key that was in use when the reviewers were added.",
            ) from error

    @cached_property
    def _fernet(self) -> "Fernet":
        from cryptography.fernet import Fernet

        self.check()
        return Fernet(base64.urlsafe_b64encode(_derive(self._secret_key or "")))


def new_key() -> str:
    """A fresh secret key: 32 random bytes as text."""
    return _PREFIX + secrets.token_urlsafe(32)


_PREFIX = "placet-key-"
_SALT = b"placet:seeds:1\n"


def _derive(secret: str) -> bytes:
    """32 bytes from a secret; a passphrase of people's own is made expensive to guess.

    A key that `new_key` made holds 256 random bits and needs no such thing, which saves
    every process 50 ms.
    """
    if secret.startswith(_PREFIX) and len(secret) == len(_PREFIX) + 43:
        return hashlib.sha256(_SALT + secret.encode()).digest()
    return hashlib.scrypt(secret.encode(), salt=_SALT, n=2**14, r=8, p=1, dklen=32)
