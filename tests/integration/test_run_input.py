"""The form as Prefect is given it."""

import pytest

from flows.form import run_input
from policies.form import Form
from tests.unit.test_form import asked, form_item
from tests.unit.values import field

EDITABLE, FIXED = form_item(field("body", "x")), form_item()
FORMS = {
    "to decide": (Form(items=(EDITABLE, FIXED), questions=()), False),
    "without anything to edit": (Form(items=(FIXED,), questions=()), True),
    "to edit": (
        Form(items=(form_item(field("body", "x"), editing=True),), questions=()),
        True,
    ),
    "to ask": (Form(items=(), questions=(asked("q"),)), True),
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_form_requires_a_code_and_says_where_none_is_checked(kind: str) -> None:
    """W1: a proof has no default; an edit is proved in the next form."""
    form, checked = FORMS[kind]
    schema = run_input(form, "").model_json_schema()
    assert "code" in schema["required"]
    says = "to choose edit: any" in schema["properties"]["code"]["title"]
    assert says == (not checked)


@pytest.mark.parametrize("kind", FORMS)
def test_who_answers_and_every_verdict_are_always_required(kind: str) -> None:
    """W1, A3: a raw resume cannot leave out what is decided on."""
    schema = run_input(FORMS[kind][0], "").model_json_schema()
    verdicts = {n for n in schema["properties"] if n.startswith("verdict_")}
    assert {"reviewer", *verdicts} <= set(schema["required"])
