"""The real-case data: where it is, and what a test does without it.

The data is third-party and no part of this repository. PLACET_CASES names its folder
(absolute, or relative to the project's root).
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[1]


def cases(*parts: str) -> Path:
    """The path below the data folder, which need not exist."""
    folder = os.environ.get("PLACET_CASES") or "../shared/cases"
    return (_ROOT / folder).resolve().joinpath(*parts)


def case_files(*parts: str, pattern: str = "*") -> list[Path]:
    """The files of a folder in order; none, so that pytest skips, without the data."""
    return sorted(path for path in cases(*parts).glob(pattern) if path.is_file())


def case_lines(*parts: str) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file."""
    lines = cases(*parts).read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


needs_cases = pytest.mark.skipif(
    not cases().is_dir(),
    reason=f"no case data at {cases()}; set PLACET_CASES",
)
