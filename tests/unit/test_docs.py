"""The docs name what there is: every command, setting and block."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

import blocks
from blocks.mail_settings import MailSettings
from blocks.model_settings import DraftingSettings
from blocks.settings import Settings
from channels.command import SUBCOMMANDS

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("words", [row[0] for row in SUBCOMMANDS])
def test_the_reference_names_every_command(words: str) -> None:
    assert f"`placet {words}" in REFERENCE


@pytest.mark.parametrize("name", Settings.model_fields)
def test_the_reference_names_every_setting(name: str) -> None:
    assert f"PLACET_{name.upper()}" in REFERENCE


@pytest.mark.parametrize("part", [MailSettings, DraftingSettings])
def test_the_reference_names_every_part_of_a_setting(part: type[BaseModel]) -> None:
    missing = [n for n in part.model_fields if f"__{n.upper()}" not in REFERENCE]
    assert missing == []


@pytest.mark.parametrize("name", dir(blocks))
def test_the_reference_names_every_block(name: str) -> None:
    assert f"`{name}`" in REFERENCE


def test_the_readme_names_no_command_that_is_none() -> None:
    known = {row[0].split()[0] for row in SUBCOMMANDS}
    named = set(re.findall(r"(?:`|^ {4,})placet ([a-z-]+)", README, re.MULTILINE))
    assert len(named) > 10
    assert named - known == set()


def test_the_readme_gives_every_dependency_its_line() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["models"]]
    names = [w.split(">")[0].split("[")[0] for w in wanted]
    assert [name for name in names if name not in README] == []


def test_the_pictures_of_the_readme_are_there() -> None:
    shown = [part.split(")")[0] for part in README.split("](")[1:]]
    local = [path for path in shown if not path.startswith("http")]
    assert [path for path in local if not (ROOT / path).exists()] == []
