"""What a process is told from outside: environment variables, then `.env`."""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Self, get_args

from pydantic import BaseModel, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    SettingsConfigDict,
)

from blocks.http_settings import HttpSettings
from blocks.mail_settings import MailSettings
from blocks.model_settings import DraftingSettings, WorkflowModelSettings
from policies.errors import Misconfigured
from policies.problems import problems_of

PREFIX = "PLACET_"
_CHECKOUT = Path(__file__).parent.parent
# An installed wheel has no checkout around it; then the place where the command is
# run is the project.
ROOT = _CHECKOUT if (_CHECKOUT / "pyproject.toml").exists() else Path.cwd()


class Settings(BaseSettings):
    """`PLACET_…`; parts of mail and models as `PLACET_MAIL__HOST` and so on.

    A `…_block` names a Prefect block document whose values are used instead.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=(ROOT / ".env", ".env"),
        env_nested_delimiter="__",
        extra="ignore",
    )

    home: Path = ROOT / ".placet"
    database_url: str = ""
    artifacts: str = ""
    secret_key: SecretStr | None = None
    environment: str = "dev"
    hot_pause_seconds: float = Field(default=120, gt=0, le=86_400)
    poll_seconds: float = Field(default=1, gt=0, le=60)
    lease_seconds: float = Field(default=15, ge=1, le=3600)
    keep_claims_days: float = Field(default=90, gt=0)
    mail: MailSettings | None = None
    http: dict[str, HttpSettings] = {}
    model: DraftingSettings = DraftingSettings()
    workflow_model: WorkflowModelSettings | None = None
    ledger_block: str | None = None
    mail_block: str | None = None
    model_block: str | None = None
    workflow_model_block: str | None = None

    @model_validator(mode="after")
    def _places(self) -> Self:
        """Relative SQLite paths count from the project's root, wherever this runs."""
        self.home = ROOT / self.home
        self.database_url = _anchored(
            self.database_url or f"sqlite:///{self.home / 'placet.db'}"
        )
        self.artifacts = self.artifacts or str(self.home / "artifacts")
        if "://" not in self.artifacts:
            self.artifacts = str(ROOT / self.artifacts)
        if self.secret_key is None and self.secret_key_file.exists():
            self.secret_key = SecretStr(self.secret_key_file.read_text().strip())
        return self

    @property
    def secret_key_file(self) -> Path:
        """Where `placet demo` keeps the key that it made."""
        return self.home / "secret-key"


def unknown_names() -> tuple[tuple[str, str | None], ...]:
    """`PLACET_…` names that mean nothing here, each with the nearest one that does."""
    known = _known_names()
    given = (*os.environ, *DotEnvSettingsSource(Settings).env_vars)
    ours = {n.upper().removeprefix(PREFIX) for n in given if _is_ours(n)}
    near = {n: get_close_matches(n, sorted(known), 1) for n in sorted(ours - known)}
    return tuple(
        (PREFIX + name, PREFIX + found[0] if found else None)
        for name, found in near.items()
    )


def _is_ours(name: str) -> bool:
    return name.upper().startswith(PREFIX)


def _known_names() -> frozenset[str]:
    """The settings and their parts, and what the command alone reads; no prefix."""
    names = {"TOKEN", "DEBUG"}
    for name, field in Settings.model_fields.items():
        names.add(name.upper())
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                names |= {f"{name}__{inner}".upper() for inner in part.model_fields}
    return frozenset(names)


def load_settings() -> Settings:
    """The settings of this process; `Misconfigured` names the wrong variable."""
    try:
        return Settings()
    except ValidationError as error:
        found = "; ".join(problems_of(error, "the settings", _variable))
        raise Misconfigured(f"{found}.") from error


def _variable(parts: Sequence[str]) -> str:
    return PREFIX + "__".join(parts).upper()


def _anchored(url: str) -> str:
    prefix = "sqlite:///"
    path = url.removeprefix(prefix)
    if not url.startswith(prefix) or path.startswith(("/", ":memory:")) or not path:
        return url
    return f"{prefix}{ROOT / path}"
