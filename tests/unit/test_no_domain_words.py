"""What runs every domain knows none."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = re.compile(r"e-?mail|\bmails?\b|ticket|customer|refund|smtp", re.IGNORECASE)
ROOMS = ("flows", "blocks/ledger", "channels")
FILES = sorted(
    path
    for room in ROOMS
    for path in (ROOT / room).rglob("*.py")
    if "demo" not in path.name and "migrations" not in path.parts
)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_word_of_a_domain_stands_in_the_loop_the_ledger_or_a_way_in(
    path: Path,
) -> None:
    """L1"""
    found = [
        line.strip()
        for line in path.read_text("utf-8").splitlines()
        if WORDS.search(line) and "support_email" not in line
    ]
    named = [
        line for line in path.read_text("utf-8").splitlines() if "support_email" in line
    ]
    # The ledger must say which migrations it needs, its domains' among them.
    assert found == []
    assert not named or path.name in ("database.py", "schema.py")
