"""A setting that does not exist is named, with the one that was meant."""

import pytest

from blocks.settings import unknown_names


@pytest.mark.parametrize(
    ("name", "near"),
    (
        ("PLACET_DATABSE_URL", "PLACET_DATABASE_URL"),
        ("PLACET_MAIL__HOTS", "PLACET_MAIL__HOST"),
        ("PLACET_WORKFLOW_MODEL__KNID", "PLACET_WORKFLOW_MODEL__KIND"),
        ("PLACET_XYZZY", None),
    ),
)
def test_a_slip_in_a_settings_name_is_noticed(
    name: str, near: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")

    assert dict(unknown_names())[name] == near


@pytest.mark.parametrize(
    "name",
    ("PLACET_HOME", "PLACET_TOKEN", "PLACET_DEBUG", "PLACET_MAIL__SENDER", "PREFECT_X"),
)
def test_what_there_is_and_what_is_not_ours_is_left_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")

    assert name not in dict(unknown_names())
