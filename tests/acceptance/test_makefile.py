"""What `make` says on a fresh machine: nothing while all is well, and every error."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "placet_tests_own"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A project that needs one package, found here and at no index."""
    info = f"{PACKAGE}-1.dist-info"
    with zipfile.ZipFile(tmp_path / f"{PACKAGE}-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    shutil.copy(ROOT / "Makefile", tmp_path)
    return tmp_path


def make_environment(folder: Path, digest: str) -> subprocess.CompletedProcess[str]:
    """`make .venv/.build` with that package locked; pip has something to warn of."""
    lock = folder / "requirements-build.lock"
    lock.write_text(f"{PACKAGE}==1 --hash=sha256:{digest}\n")
    pip = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": str(folder),
        "PIP_INDEX_URL": f"file://{folder}/no-such-index",
    }
    others = ("PIP_", "MAKE", "MFLAGS")
    theirs = {k: v for k, v in os.environ.items() if not k.startswith(others)}
    return subprocess.run(
        ["make", "--no-print-directory", ".venv/.build"],
        cwd=folder,
        env=theirs | pip,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_environment_is_made_without_a_word(machine: Path) -> None:
    (wheel,) = machine.glob("*.whl")
    done = make_environment(machine, hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_package_that_is_not_the_locked_one_is_told_and_stops_it(
    machine: Path,
) -> None:
    done = make_environment(machine, "0" * 64)
    assert done.returncode != 0 and "DO NOT MATCH THE HASHES" in done.stderr
    assert not (machine / ".venv" / ".build").exists()
