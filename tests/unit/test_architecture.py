"""The tree is what CONTRIBUTING.md says: rooms, one import arrow, pure policies."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("policies", "blocks", "tasks", "flows", "channels")
LOCKS = sorted(ROOT.glob("requirements*.lock"))
SOURCES = [path for room in (*ROOMS, "tests") for path in ROOT.glob(f"{room}/**/*.py")]
POLICIES = sorted(ROOT.glob("policies/**/*.py"))
IMPURE = re.compile(
    r"(^|\.)(datetime\.(now|utcnow|today)|date\.today"
    r"|time\.time|monotonic(_ns)?|perf_counter(_ns)?"
    r"|uuid[14]|random|secrets|urandom|environ|getenv"
    r"|(read|write)_(text|bytes))$|^(open|input|print)$"
)


def names_in(source: str) -> Iterator[str]:
    """Every name that the source uses or imports, dotted as it is written."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name() | ast.Attribute():
                yield ast.unparse(node)
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names):
                yield str(module)
                yield from (f"{module}.{alias.name}" for alias in names)


def impurities(source: str) -> list[str]:
    return [name for name in names_in(source) if IMPURE.search(name)]


def test_the_import_arrow_holds() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_ours_and_not_a_stranger_of_the_same_name(room: str) -> None:
    file = importlib.import_module(room).__file__
    assert file is not None
    assert Path(file).resolve() == ROOT / room / "__init__.py"


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for path in SOURCES}
    assert [str(f) for f in folders if not (f / "__init__.py").is_file()] == []


def test_no_flow_file_hides_a_module_of_the_same_name() -> None:
    flows = {path.stem for path in ROOT.glob("flows/*.py")} - {"__init__"}
    assert flows & (set(sys.stdlib_module_names) | set(ROOMS)) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "from datetime import date\ndate.today()",
        "from uuid import uuid4\nField(default_factory=uuid4)",
        "from time import monotonic as clock",
        "import secrets",
        "import os\nos.environ['HOME']",
        "open('policy.json')",
    ],
)
def test_a_look_at_clock_chance_or_world_is_noticed(source: str) -> None:
    assert impurities(source) != []


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_policies_read_no_clock_and_touch_nothing_outside(path: Path) -> None:
    assert impurities(path.read_text(encoding="utf-8")) == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel of the present tree."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(folder),
    ]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    with ZipFile(file) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize("room", ROOMS)
def test_a_wheel_holds_every_file_of_every_room(room: str, wheel: set[str]) -> None:
    files = {path for path in ROOT.glob(f"{room}/**/*") if path.is_file()}
    ours = {str(f.relative_to(ROOT)) for f in files if f.parent.name != "__pycache__"}
    assert ours <= wheel


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_file_pins_by_hash_and_names_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    pins = re.findall(r"^\S+==.*\\\n +--hash=sha256:", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[^\s#]", text, re.MULTILINE)) > 0
    assert not re.search(r"://|--(extra-)?index-url|--find-links", text)
