"""How commands answer: one JSON document on stdout, or words and tables for people.

Everything that came from outside is shown with its invisible characters made visible
and without markup of ours or of the terminal's.
"""

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from channels import answers
from policies.errors import PlacetError
from policies.visible import make_visible


def document(value: Any) -> None:
    """Print one JSON document, in ASCII: no character of it acts on a terminal."""
    json.dump(value, sys.stdout, default=_plain, ensure_ascii=True, indent=2)
    sys.stdout.write("\n")
    sys.stdout.flush()


def say(text: str = "") -> None:
    """Print one line for people; a line end in it would forge another."""
    print(make_visible(text).replace("\n", "⟦U+000A⟧"), flush=True)


def warn(text: str) -> None:
    """Print a line for people that is no part of the answer."""
    print(make_visible(text), file=sys.stderr, flush=True)


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table; its first column, which people copy from, is never folded."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(title), title_justify="left")
    for number, column in enumerate(columns):
        shown.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        shown.add_row(*(Text(make_visible(str(cell))) for cell in row))
    Console(highlight=False).print(shown)


def fail(error: PlacetError, as_json: bool) -> int:
    """Tell an error; the exit code."""
    if as_json:
        document(answers.as_document(error))
    warn(f"placet: {error}")
    return answers.exit_code(error)


def _plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)
