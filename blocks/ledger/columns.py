"""How the ledger's values are kept in either database: moments, JSON, texts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Text, TypeDecorator, Update, bindparam
from sqlalchemy.orm import DeclarativeBase


class Instant(TypeDecorator[datetime]):
    """A moment in UTC; SQLite, which has no zones, stores it without one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self, value: datetime | None, dialect: Dialect
    ) -> datetime | None:
        """Refuse naive times: a moment without a zone is not a moment."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time needs a zone")
        moment = value.astimezone(UTC)
        return moment if dialect.name == "postgresql" else moment.replace(tzinfo=None)

    def process_result_value(
        self, value: datetime | None, dialect: Dialect
    ) -> datetime | None:
        """Give back an aware time in UTC."""
        if value is None:
            return None
        # PostgreSQL answers in its session's zone, whichever that is.
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return aware.astimezone(UTC)


# Kept as text: PostgreSQL's JSONB refuses some strings and rewrites some numbers.
_JSON = JSON(none_as_null=True)


class Base(DeclarativeBase):
    """All tables of the ledger; a domain's tables have a base of their own."""

    type_annotation_map = {  # noqa: RUF012 (SQLAlchemy reads it as a class attribute)
        datetime: Instant(),
        dict[str, Any]: _JSON,
        list[Any]: _JSON,
        str: Text(),
    }


@cache
def setting(guarded: Update, *columns: str) -> Update:
    """A guarded write that sets these columns, each as `to_COLUMN`; built once."""
    return guarded.values({name: bindparam(f"to_{name}") for name in columns})


def to_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as `setting` binds them."""
    return {f"to_{name}": value for name, value in values.items()}
