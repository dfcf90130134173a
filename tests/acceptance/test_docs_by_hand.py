"""What the reference tells people to type does what it says there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.acceptance.command_line import clean
from tests.acceptance.shell import Shell

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"


@pytest.mark.parametrize("dialect", ("sqlite",))
def test_ref_and_payload_hash_are_computed_as_the_reference_says(shell: Shell) -> None:
    """A1, W4: with a shell alone, from the stored bytes."""
    world = shell.world
    item = world.item(world.asked()).id
    (shown,) = shell.document("show", item)["packet"]["items"]
    script = re.sub(r"ITEM=\S+", f"ITEM={item}", by_hand())

    said = in_a_shell(script.replace(".placet", str(world.folder)), shell).split()

    ref = shown["payload"]["ref"].removeprefix("payload/sha256:")
    hashed = shown["payload"]["hash"]
    assert said == [ref, "-", hashed.removeprefix("sha256:"), "-", hashed]


def by_hand() -> str:
    """The commands of the section on checking a payload."""
    page = REFERENCE.read_text("utf-8")
    section = page.split("## Check a payload by hand")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("    ")]
    return dedent("\n".join(lines))


def in_a_shell(script: str, shell: Shell) -> str:
    """What a script prints in a shell where Placet's environment is active."""
    tools = Path(sys.executable).parent
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    env = {**clean(os.environ), **shell.env, "PATH": path}
    return subprocess.run(
        ["bash", "-eu", "-c", script],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
