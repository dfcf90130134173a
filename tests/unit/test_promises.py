"""docs/promises.md tells what the tests show."""

import pytest

from tests import promises


@pytest.mark.parametrize("row", promises.PROMISES)
def test_every_promise_has_a_test(row: str) -> None:
    assert promises.shown()[row]


def test_the_page_is_what_the_tests_say() -> None:
    assert promises.PAGE.read_text("utf-8") == promises.page()
