"""How approvals fail in the field, and the tests that show that they do not here.

A test's name begins with the rows it shows (`test_b8_…`, `test_c23_c25_…`).
`python -m tests.field_failures` writes docs/field-failures.md; a test keeps it true.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.field_rows import ROWS, Row

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "field-failures.md"
_IDS = re.compile(r"test_((?:[abcdps]\d{1,2}_)+)")
_SECTIONS = {
    "A": "What ran is not what was approved",
    "B": "Twice",
    "C": "Approved, and nothing ran",
    "D": "Nobody approved",
    "P": "Prefect itself",
    "S": "Silent failures",
}


@cache
def shown() -> dict[str, list[str]]:
    """The tests of each row, by the row's id; of ids that are no rows, too."""
    found: dict[str, list[str]] = {row.id: [] for row in ROWS}
    for path in sorted(TESTS.rglob("test_*.py")):
        for test, ids in _tests(path):
            for row in ids:
                place = f"{path.relative_to(TESTS)}::{test}"
                found.setdefault(row, []).append(place)
    return found


def page() -> str:
    """The text of docs/field-failures.md."""
    tests = shown()
    parts = [_HEAD]
    for letter, title in _SECTIONS.items():
        parts.append(f"## {letter}. {title}\n")
        rows = [row for row in ROWS if row.id.startswith(letter)]
        parts += [_told(row, tests[row.id]) for row in rows]
    return "\n".join(parts)


def _told(row: Row, tests: list[str]) -> str:
    missing = [f"- not built yet: needs {row.missing}"] if row.missing else []
    lines = [f"- `{test}`" for test in tests] + missing
    head = f"**{row.id}** {row.situation} *{row.holds}*"
    return "\n".join([head, "", *lines, ""])


def _tests(path: Path) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and (match := _IDS.match(node.name)):
            yield node.name, match[1].upper().strip("_").split("_")


_HEAD = """\
# Failures in the field

How approvals fail elsewhere, kind by kind, and what must hold here. Made from the tests
by `make docs`; a test keeps the two equal. Each line below a row is a test in `tests/`
that does what the row says; "not built yet" names what a row, or the rest of it, needs.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
