"""The statements of one real effect, as the driver was given them, to be replayed.

What names the request's own rows, or rows that the effect makes, is replaced at each
replay; everything else stays as it was captured, so that as many bytes travel.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Engine, event

from tests.benchmarks.effects_under_way import Ready

_MADE = re.compile(r"(effect-)?[ce]-[0-9a-f]{16}|execution/sha256:[0-9a-f]{64}")
_PLACE = re.compile(r"%\((\w+)\)s")


class Statement(NamedTuple):
    """One statement and its parameters, by name or by position."""

    sql: str
    values: dict[str, Any] | tuple[Any, ...]


class Effect(NamedTuple):
    """All statements of one effect, with its transactions' boundaries."""

    statements: tuple[Statement, ...]
    of: Ready

    @property
    def made(self) -> tuple[str, ...]:
        """The names that the effect gave to rows of its own, in order."""
        texts = (v for s in self.statements for v in _all(s) if isinstance(v, str))
        return tuple(dict.fromkeys(t for t in texts if _MADE.fullmatch(t)))

    @property
    def transactions(self) -> int:
        """How many there are."""
        return sum(statement.sql == "COMMIT" for statement in self.statements)

    @property
    def asked(self) -> int:
        """How many statements there are without BEGIN and COMMIT."""
        return len(self.statements) - 2 * self.transactions


@contextmanager
def captured(engine: Engine, into: list[Statement]) -> Iterator[None]:
    """Note every statement that goes to the driver meanwhile."""

    def run(
        _: Any, cursor: Any, sql: str, values: Any, context: Any, many: bool
    ) -> None:
        for row in values if many else [values]:
            into.append(Statement(sql, row if isinstance(row, dict) else tuple(row)))

    def begin(connection: Any) -> None:
        into.append(Statement("BEGIN", ()))

    def commit(connection: Any) -> None:
        into.append(Statement("COMMIT", ()))

    heard: list[tuple[str, Callable[..., None]]] = [
        ("before_cursor_execute", run),
        ("commit", commit),
    ]
    if engine.dialect.name == "postgresql":
        # On SQLite the ledger says it by itself.
        heard.append(("begin", begin))
    for name, listener in heard:
        event.listen(engine, name, listener)
    yield
    for name, listener in heard:
        event.remove(engine, name, listener)


def for_sqlite(effect: Effect, ready: Sequence[Ready]) -> list[list[Statement]]:
    """The same effect for each of the requests."""
    return [_renamed(effect, one, number) for number, one in enumerate(ready)]


def for_pgbench(effect: Effect, names: dict[str, str]) -> tuple[str, dict[str, str]]:
    """A script, and its constant variables. `names` are variables by what they name."""
    lines, constants = [], dict[str, str]()
    for statement in effect.statements:
        given = statement.values

        def place(found: re.Match[str], given: Any = given) -> str:
            value = given[found[1]]
            if value is None:
                return "NULL"
            if isinstance(value, str) and value in names:
                return f":{names[value]}"
            return f":{constants.setdefault(_text(value), f'p{len(constants)}')}"

        lines.append(" ".join(_PLACE.sub(place, statement.sql).split()) + ";")
    return "\n".join(lines), {name: text for text, name in constants.items()}


def _renamed(effect: Effect, one: Ready, number: int) -> list[Statement]:
    names = dict(zip(effect.of.names, one.names, strict=True))
    names |= {made: f"{made[:-8]}{number:08d}" for made in effect.made}
    return [
        Statement(
            sql, tuple(names.get(v, v) if isinstance(v, str) else v for v in values)
        )
        for sql, values in effect.statements
    ]


def _all(statement: Statement) -> Iterator[Any]:
    values = statement.values
    yield from values.values() if isinstance(values, dict) else values


def _text(value: Any) -> str:
    """A parameter as pgbench sends it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, int | str):
        return str(value)
    # The driver's wrapper of a JSON value.
    return json.dumps(value.obj)
