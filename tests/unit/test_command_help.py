"""Every argument of every command has its help, and a slip shows how it is called."""

import subprocess
import sys

import pytest

from channels.command import SUBCOMMANDS, app, run
from channels.usage import usage_of

COMMANDS = [tuple(row[0].split()) for row in SUBCOMMANDS]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_argument_has_its_help(words: tuple[str, ...]) -> None:
    command = app
    for word in words:
        command = command[word]
    arguments = command.assemble_argument_collection(parse_docstring=True)

    assert [a.name for a in arguments if not a.parameter.help] == []


def test_no_command_imports_prefect_before_it_knows_which_server_there_is() -> None:
    """W4: it reads its settings once; a local run's server is looked for by then."""
    modules = {row[1].partition(":")[0] for row in SUBCOMMANDS} - {"demo"}
    lines = [f"import channels.commands.{name}" for name in sorted(modules)]
    look = "import sys; sys.exit('prefect' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", "\n".join((*lines, look))], check=False
    )

    assert done.returncode == 0


def test_a_usage_line_tells_what_is_required_and_what_is_not() -> None:
    usage = " ".join(usage_of(app, ("decide",)))

    assert usage == (
        "ITEM VERDICT --as REVIEWER --version VERSION --snapshot SNAPSHOT "
        "[--reason REASON] [--edit EDIT] [--json]"
    )


@pytest.mark.parametrize(
    ("tokens", "what"),
    (
        (("show",), "`placet show` needs ITEM."),
        (("decide", "it-1", "approve"), "`placet decide` needs --as REVIEWER."),
        (("queue", "extra"), "`placet queue` has no use for 'extra'."),
    ),
)
def test_a_slip_names_the_argument_and_shows_the_usage(
    tokens: tuple[str, ...], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(list(tokens)) == 2

    said = capsys.readouterr().err
    assert said.startswith(f"placet: {what} Usage: placet {tokens[0]} ")
    assert said.endswith(f"`placet {tokens[0]} --help` tells more.\n")
