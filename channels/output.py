"""How commands answer: one JSON document on stdout, or words and tables for people.

Everything that came from outside is shown with its invisible characters made visible
and without markup of ours or of the terminal's.
"""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from channels import answers
from policies.errors import PlacetError
from policies.visible import make_visible

_NARROWEST = 40


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


def entry(*head: object, details: Iterable[str] = ()) -> None:
    """Print one thing of a list: its head on a line, its details wrapped below.

    A head is never folded, and no word of a detail is cut: people copy ids from them.
    """
    say("  ".join(str(word) for word in head))
    width = max(shutil.get_terminal_size().columns - 1, _NARROWEST)
    for detail in details:
        shown = make_visible(detail).replace("\n", "⟦U+000A⟧")
        print("\n".join(_wrapped(shown, width)), flush=True)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent="    ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )


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
