"""docs/field-failures.md tells what the tests show, and leaves no row out."""

import re

from tests import field_failures
from tests.cases import cases, needs_cases
from tests.field_rows import ROWS

_IDS = re.compile(r"^\| ([ABCDP]\d+(?:, [ABCDP]\d+)*) \|", re.MULTILINE)


def test_every_row_has_a_test_or_says_what_it_needs() -> None:
    shown = field_failures.shown()
    assert [row.id for row in ROWS if not shown[row.id] and not row.missing] == []


def test_no_test_is_named_after_a_row_that_there_is_not() -> None:
    assert set(field_failures.shown()) == {row.id for row in ROWS}


def test_the_page_is_what_the_tests_say() -> None:
    assert field_failures.PAGE.read_text("utf-8") == field_failures.page()


@needs_cases
def test_every_row_of_the_case_data_is_here() -> None:
    text = cases("field-failures.md").read_text("utf-8")
    known = {one for found in _IDS.findall(text) for one in found.split(", ")}
    assert len(known) > 60
    assert known == {row.id for row in ROWS if row.id[0] != "S"}
