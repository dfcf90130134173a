"""What is wrong is told in one line, with what to do, and leaves nothing behind."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blocks import prefect_runs
from tests.acceptance.command_line import run_command
from tests.acceptance.installation import Installation
from tests.smtp_server import RecordingServer
from tests.world import World

NOWHERE = "http://127.0.0.1:9/api"
MAIL = ("HOST", "PORT", "SECURITY", "SENDER", "MESSAGE_ID_DOMAIN")


@pytest.fixture
def alone(
    mail: RecordingServer, tmp_path: Path, sqlite_template: Path
) -> Iterator[Installation]:
    """An installation with a ticket, whose Prefect server does not answer."""
    shutil.copyfile(sqlite_template, tmp_path / "placet.db")
    with Installation(tmp_path, NOWHERE, mail) as made:
        made.add_ticket("t-1")
        yield made
    assert rows(tmp_path / "placet.db", "workflow_sessions") == 0


def refusal(
    installation: Installation, code: int, *tokens: str, **env: str | None
) -> tuple[str, str]:
    """The code of an error, and the one line that tells it, for people and programs.

    `env` are settings by the rest of their names; None takes one away.
    """
    changed = {f"PLACET_{name}": text for name, text in env.items()}
    given = {**installation.env, **changed}
    settings = {name: text for name, text in given.items() if text is not None}
    plain = run_command(tokens, settings)
    as_json = run_command([*tokens, "--json"], settings)
    error = as_json.document["error"]
    line = plain.err.removesuffix("\n")
    told = f"placet: {error['message']} {error['hint'] or ''}".rstrip()
    assert (plain.code, as_json.code, plain.out) == (code, code, "")
    assert (line, as_json.err) == (told, plain.err)
    assert "\n" not in line and "Traceback" not in line
    return error["code"], line


BODIES = {
    "nothing": (b"", "not_strict_json"),
    "half": (b'{"ticket_id": ', "not_strict_json"),
    "two of a name": (b'{"ticket_id": "a", "ticket_id": "b"}', "not_strict_json"),
    "no number": (b'{"ticket_id": NaN}', "not_strict_json"),
    "half a character": (rb'{"ticket_id": "\ud800"}', "not_strict_json"),
    "no text": (b"\xff\xfe{}", "not_strict_json"),
    "too deep": (b"[" * 100_000, "not_strict_json"),
    "two megabytes": (b'{"ticket_id": "%s"}' % (b"a" * 2_000_000), "not_strict_json"),
    "half a megabyte": (b'{"ticket_id": "%s"}' % (b"a" * 500_000), "too_large"),
    "a list": (b"[]", "invalid_request"),
    "no ticket": (b"{}", "invalid_request"),
    "a number": (b'{"ticket_id": 7}', "invalid_request"),
    "an unknown field": (b'{"ticket_id": "t-1", "urgent": 1}', "invalid_request"),
    "an unknown word": (b'{"ticket_id": "t-1", "reply": "yes"}', "invalid_request"),
}


@pytest.mark.parametrize("way", ("--local", "--request-id=r-1"))
@pytest.mark.parametrize("body", BODIES)
def test_a_request_that_cannot_be_read_starts_nothing(
    body: str, way: str, alone: Installation
) -> None:
    content, code = BODIES[body]
    file = alone.folder / "request.json"
    file.write_bytes(content)

    assert refusal(alone, 2, "submit", "support_email", str(file), way)[0] == code


def test_what_is_not_there_is_named(alone: Installation) -> None:
    good, missing = alone.write_request("t-1"), str(alone.folder / "missing.json")

    code, line = refusal(alone, 2, "submit", "nowhere", good)
    assert (code, line.endswith("Registered: support_email.")) == (
        "unknown_domain",
        True,
    )
    code, line = refusal(alone, 2, "submit", "support_email", missing)
    assert (code, missing in line) == ("unreadable_file", True)


@pytest.mark.parametrize("way", ("--local", "--request-id=r-1"))
def test_what_the_domain_does_not_know_is_refused_before_anything_starts(
    way: str, alone: Installation
) -> None:
    submit = ("submit", "support_email")
    unknown = alone.write_request("t-none")
    nobody = alone.write_request("t-1", recipients=["c-none"])

    for file, words in ((unknown, "There is no ticket t-none"), (nobody, "c-none")):
        code, line = refusal(alone, 4, *submit, file, way)
        assert (code, words in line) == ("not_found", True)
        assert "`placet load support_email FILE`" in line


SEEN = ("--version", "1", "--snapshot", "12345678")
UNKNOWN = (
    ("decide", "it-none", "approve", "--as", "ada", *SEEN),
    ("answer", "wf-none", "topic", "refund", "--as", "ada"),
    ("status", "wf-none"),
    ("resume", "wf-none"),
    ("show", "it-none"),
    ("audit", "show", "wf-none"),
    ("audit", "show", "it-none"),
    ("audit", "show", "<none@placet.test>"),
    ("reviewers", "rotate", "nobody"),
    ("reviewers", "revoke", "nobody"),
)


@pytest.mark.parametrize("tokens", UNKNOWN, ids=" ".join)
def test_what_is_unknown_is_not_found(
    tokens: tuple[str, ...], alone: Installation
) -> None:
    code, line = refusal(alone, 4, *tokens, TOKEN="any")

    assert code == "not_found"
    assert any(name in line for name in tokens[1:])


MISUSED = (
    ("frobnicate",),
    ("show",),
    ("queue", "--risk", "huge"),
    ("queue", "--state", "nearly"),
    ("show", "it-none", "--version", "99999999999999999999"),
    ("decide", "it-none", "perhaps", "--as", "ada"),
    ("reviewers", "add", "eve", "--role", "king"),
    ("submit", "support_email", "request.json", "--locally"),
)


@pytest.mark.parametrize("tokens", MISUSED, ids=" ".join)
def test_a_command_that_is_misused_says_where_help_is(
    tokens: tuple[str, ...], alone: Installation
) -> None:
    code, line = refusal(alone, 2, *tokens)

    assert code == "usage"
    assert line.endswith("--help` tells more.")


@pytest.mark.parametrize("way", ("--local", "--request-id=r-1"))
def test_a_prefect_server_that_does_not_answer_is_named(
    way: str, alone: Installation
) -> None:
    file = alone.write_request("t-1")
    code, line = refusal(alone, 1, "submit", "support_email", file, way)

    assert code == "prefect_unreachable"
    assert f"{NOWHERE} does not answer" in line and "Check PREFECT_API_URL" in line


def test_a_prefect_server_without_our_deployment_is_told_apart(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefect_runs, "DEPLOYMENT", "handle-request/not-deployed")
    installation.add_ticket("t-1")
    file = installation.write_request("t-1")

    code, line = refusal(installation, 1, "submit", "support_email", file)

    assert code == "not_deployed"
    assert "prefect --no-prompt deploy --all" in line


def test_c26_without_any_prefect_server_both_ways_out_are_named(
    alone: Installation,
) -> None:
    del alone.env["PREFECT_API_URL"]
    file = alone.write_request("t-1")

    code, line = refusal(alone, 1, "submit", "support_email", file)

    assert code == "no_prefect_server"
    assert line.endswith("Set PREFECT_API_URL, or submit with --local.")


DATABASES = {
    "postgresql://nobody@127.0.0.1:9/none": (1, "unavailable", "Connection refused"),
    "sqlite:////proc/none/placet.db": (1, "unavailable", "/proc/none"),
    "sqlite:///{}/text.db": (1, "unavailable", "file is not a database"),
    "sqlite:///{}/new.db": (2, "ledger_empty", "Run `placet db upgrade`."),
    "mysql://nobody@127.0.0.1/none": (2, "misconfigured", "mysql"),
    "nonsense": (2, "misconfigured", "Use sqlite:///PATH"),
}


@pytest.mark.parametrize("url", DATABASES)
def test_a_database_that_cannot_be_used_is_named_with_what_to_do(
    url: str, alone: Installation
) -> None:
    exit_code, code, words = DATABASES[url]
    (alone.folder / "text.db").write_text("This is no database. " * 100)
    file = alone.write_request("t-1")

    for command in (("queue",), ("submit", "support_email", file)):
        here = url.format(alone.folder)
        said = refusal(alone, exit_code, *command, DATABASE_URL=here)
        assert (said[0], words in said[1]) == (code, True)


@pytest.mark.parametrize(
    ("revision", "code", "words"),
    (
        ("ledger_0000", "ledger_outdated", "Run `placet db upgrade`."),
        ("ledger_9999", "ledger_newer", "Update Placet"),
    ),
)
def test_a_ledger_of_another_version_is_left_alone(
    revision: str, code: str, words: str, alone: Installation
) -> None:
    stamp = "UPDATE alembic_version SET version_num = ? WHERE version_num LIKE 'ledg%'"
    with closing(sqlite3.connect(alone.folder / "placet.db")) as database, database:
        database.execute(stamp, [revision])
    file = alone.write_request("t-1")

    for command in (("queue",), ("submit", "support_email", file)):
        said = refusal(alone, 2, *command)
        assert (said[0], words in said[1]) == (code, True)


def test_missing_settings_are_named(alone: Installation) -> None:
    file = alone.write_request("t-1")
    local = ("submit", "support_email", file, "--local")
    eve = ("reviewers", "add", "eve", "--role", "reviewer", "--tenant", "main")
    without = {f"MAIL__{name}": None for name in MAIL}
    told = [
        refusal(alone, 2, *local, **without),
        refusal(alone, 2, *local, MAIL__SENDER=None),
        refusal(alone, 2, *eve, SECRET_KEY=None),
        refusal(alone, 2, "keys", "rotate", SECRET_KEY=None),
        refusal(alone, 2, "queue", HOT_PAUSE_SECONDS="soon"),
    ]

    names = ("MAIL__HOST", "MAIL__SENDER", "SECRET_KEY", "SECRET_KEY", "HOT_PAUSE")
    for (_, line), name in zip(told, names, strict=True):
        assert f"PLACET_{name}" in line


def test_an_artifact_store_of_an_unknown_kind_is_a_matter_of_settings(
    installation: Installation, world: World
) -> None:
    item = world.item(world.asked()).id
    there = str(world.services.ledger.engine.url)

    code, line = refusal(
        installation, 2, "show", item, ARTIFACTS="nowhere://x", DATABASE_URL=there
    )

    assert (code, "PLACET_ARTIFACTS (nowhere://x)" in line) == ("misconfigured", True)


def test_what_cannot_be_read_is_told_in_plain_words(alone: Installation) -> None:
    request = alone.write_request("t-1", urgent=1, reply="yes")
    records = alone.folder / "records.json"
    records.write_text('{"tickets": [{"id": "t 2"}]}')

    told = [
        refusal(alone, 2, "submit", "support_email", request)[1],
        refusal(alone, 2, "load", "support_email", str(records))[1],
        refusal(alone, 2, "queue", HOT_PAUSE_SECONDS="soon")[1],
    ]

    assert "reply must be 'answer' or 'acknowledgement'" in told[0]
    assert "urgent is not a known field" in told[0]
    assert "tickets.0.id must begin with a letter or digit" in told[1]
    assert "tickets.0.sender is missing" in told[1]
    assert "PLACET_HOT_PAUSE_SECONDS must be a number." in told[2]


def rows(database: Path, table: str) -> int:
    """How many rows a table has."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(found[0])
