"""Running the command as a person does, in this process: it is quick, and all there."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings
from sqlalchemy import Engine

from blocks.ledger import database
from channels import command


class Answer(NamedTuple):
    """What a command left behind: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """All that it said, whatever line it stands on."""
        return " ".join(f"{self.out} {self.err}".split())

    @property
    def document(self) -> Any:
        """Its output, which is one JSON document."""
        assert self.out, self.err
        return json.loads(self.out)


def clean(env: Mapping[str, str]) -> dict[str, str]:
    """An environment without settings of ours or of Prefect's."""
    ours = ("PLACET_", "PREFECT_")
    return {name: text for name, text in env.items() if not name.startswith(ours)}


@contextmanager
def environment(env: Mapping[str, str]) -> Iterator[None]:
    """These settings and no others, for Placet and for Prefect."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - clean(os.environ).keys():
            patch.delenv(name)
        for name, text in env.items():
            patch.setenv(name, text)
        # Prefect has read its settings already.
        with temporary_settings({PREFECT_API_URL: env.get("PREFECT_API_URL")}):
            yield


def run_command(tokens: Sequence[str], env: Mapping[str, str]) -> Answer:
    """Run `placet TOKENS` with these settings and no others."""
    out, err = _Stream(), _Stream()
    with (
        environment(env),
        _connections_closed(),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = command.run(list(tokens))
    return Answer(code, out.text(), err.text())


@contextmanager
def _connections_closed() -> Iterator[None]:
    """What ends with a process of its own otherwise: connections to the ledger."""
    made: list[Engine] = []
    make = database.make_engine

    def make_engine(url: str) -> Engine:
        made.append(make(url))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "make_engine", make_engine)
        yield
    for engine in made:
        engine.dispose()


class _Stream(io.TextIOWrapper):
    """A stream in memory with bytes below, as a real one has."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        """All that was written."""
        kept = self.buffer
        assert isinstance(kept, io.BytesIO)
        return kept.getvalue().decode()
