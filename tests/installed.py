"""The settings of an installation in a folder, and who knows which secrets."""

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import SecretStr

from blocks.mail_settings import MailSettings
from blocks.settings import Settings
from blocks.vault import Vault

SECRET_KEY = "a secret key that only tests know"
# Its key derivation is slow on purpose; one vault serves all tests.
VAULT = Vault(SECRET_KEY)


class Person(NamedTuple):
    """A reviewer with what only they know."""

    id: str
    token: str
    seed: str


def settings_of(
    database_url: str, folder: Path, mail_port: int, **more: Any
) -> Settings:
    """Everything of one test lies in its folder; `more` are other settings."""
    mail = MailSettings(
        host="127.0.0.1",
        port=mail_port,
        security="none",
        sender="desk@placet.test",
        message_id_domain="placet.test",
        timeout_seconds=10,
    )
    return Settings(
        home=folder,
        database_url=database_url,
        artifacts=str(folder / "artifacts"),
        secret_key=SecretStr(SECRET_KEY),
        environment="test",
        mail=mail,
        **more,
    )
