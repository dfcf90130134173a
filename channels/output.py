"""How commands answer: one JSON document on stdout, or words and tables for people.

Everything that came from outside is shown with its invisible characters made visible
and without markup of ours or of the terminal's.
"""

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from channels import answers
from policies.errors import PlacetError
from policies.visible import make_visible

_NARROWEST = 40
_USUAL = 80
_COMMAND = "    "
_GOES_ON = " \\"
_BETWEEN_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}


def document(value: Any) -> None:
    """Print one JSON document, in ASCII: no character of it acts on a terminal."""
    json.dump(value, sys.stdout, default=_plain, ensure_ascii=True, indent=2)
    sys.stdout.write("\n")
    sys.stdout.flush()


def say(text: str = "") -> None:
    """Print one line for people; a line end in it would forge another.

    It is folded where a terminal is narrower, between words: people copy ids.
    """
    print(_folded(_on_one_line(text), _columns()), flush=True)


def warn(text: str) -> None:
    """Print lines for people that are no part of the answer."""
    for line in make_visible(text).split("\n"):
        print(_folded(line, _columns()), file=sys.stderr, flush=True)


def entry(*head: object, details: Iterable[str] = ()) -> None:
    """Print one thing of a list: its head on a line, its details folded below."""
    say("  ".join(str(word) for word in head))
    for detail in details:
        shown = f"    {_on_one_line(detail)}"
        print(_folded(shown, _columns() or _USUAL), flush=True)


def command(line: str, to: Callable[[str], None] = say) -> None:
    """Print a command to copy; one that is too long goes on as a shell takes it.

    Its arguments are plain words, without blanks in them.
    """
    columns = _columns()
    room = columns - len(_COMMAND) - len(_GOES_ON) - 1
    fits = not columns or len(line) + len(_COMMAND) < columns
    lines = [line] if fits else textwrap.wrap(line, room, **_BETWEEN_WORDS)
    *others, last = (_COMMAND + line for line in lines)
    for line in others:
        to(line + _GOES_ON)
    to(last)


def _on_one_line(text: str) -> str:
    return make_visible(text).replace("\n", "⟦U+000A⟧")


def _columns() -> int:
    """The terminal's width; 0 where there is none, and nothing is folded."""
    found = shutil.get_terminal_size(fallback=(0, 0)).columns
    return max(found, _NARROWEST) if found else 0


def _folded(line: str, columns: int) -> str:
    if not columns or len(line) < columns:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, columns - 1, subsequent_indent=f"{indent}  ", **_BETWEEN_WORDS
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
