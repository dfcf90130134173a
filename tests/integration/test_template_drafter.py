"""Drafts from templates: the same for the same facts, and facts are never rendered."""

from collections.abc import Callable
from pathlib import Path

import pytest

from blocks.artifacts import ArtifactStore
from blocks.drafting import DraftText, replay
from blocks.generation import provenance_of, restore
from blocks.template_drafter import TemplateDrafter
from policies.errors import InvalidInput, Misconfigured
from tests.cases import case_lines, needs_cases
from tests.draft_requests import reply_request

HOSTILE = [
    "{{ 7*7 }}",
    "{% for x in range(9) %}x{% endfor %}",
    "{# gone #} {{ facts }}",
    "{{ facts.__class__.__mro__ }}",
    "{{",
    "<b>&amp;</b> \r\n \u202e \x00",
]

Drafter = Callable[..., TemplateDrafter]


@pytest.fixture
def drafter(tmp_path: Path) -> Drafter:
    """A drafter with these templates for the task `reply`."""

    def made(
        subject: str = "Re: {{ facts.ticket }}", body: str = ""
    ) -> TemplateDrafter:
        folder = tmp_path / "reply"
        folder.mkdir(exist_ok=True)
        (folder / "subject.jinja").write_text(subject)
        (folder / "body.jinja").write_text(body)
        return TemplateDrafter(tmp_path)

    return made


@pytest.mark.parametrize("text", HOSTILE)
def test_template_syntax_in_the_facts_stays_text(drafter: Drafter, text: str) -> None:
    draft = drafter(body="{{ facts.ticket }}").draft(reply_request(text))
    assert draft.fields == {"subject": f"Re: {text}", "body": text}


@needs_cases
def test_every_known_template_injection_stays_text(drafter: Drafter) -> None:
    texts = [c["text"] for c in case_lines("hostile", "template_injection.jsonl")]
    templates = drafter(body="{{ facts.ticket }}")
    drafts = [templates.draft(reply_request(text)) for text in texts]
    assert [draft.fields["body"] for draft in drafts] == texts


@pytest.mark.parametrize("text", HOSTILE)
def test_template_syntax_in_an_earlier_draft_or_a_problem_stays_text(
    drafter: Drafter, text: str
) -> None:
    templates = drafter(body="{{ draft.subject }}|{{ problems | join }}")
    earlier = DraftText(fields={"subject": text})
    revised = templates.revise(reply_request("x"), earlier, (text,))
    assert revised.fields["body"] == f"{text}|{text}"


def test_the_same_facts_give_the_same_draft(drafter: Drafter) -> None:
    templates = drafter()
    assert templates.draft(reply_request("x")) == templates.draft(reply_request("x"))


def test_other_facts_give_another_response_id(drafter: Drafter) -> None:
    templates = drafter()
    drafts = [templates.draft(reply_request(ticket)) for ticket in ("x", "y")]
    assert drafts[0].generation.response_id != drafts[1].generation.response_id


def test_the_version_of_the_model_changes_with_its_templates(drafter: Drafter) -> None:
    before = drafter(body="Hello").draft(reply_request("x")).generation
    after = drafter(body="Hello.").draft(reply_request("x")).generation
    assert (before.model, before.route) == ("template", "local")
    assert before.model_version != after.model_version


def test_a_stored_draft_is_replayed_without_its_templates(
    drafter: Drafter, tmp_path: Path
) -> None:
    draft = drafter().draft(reply_request("x"))
    store = ArtifactStore(str(tmp_path / "artifacts"))
    provenance = provenance_of(
        draft.generation,
        store,
        tool_versions={"draft_reply": "1"},
        schema_versions={},
        retrieval_refs=(),
    )
    (tmp_path / "reply" / "subject.jinja").unlink()
    assert replay(restore(provenance, store)) == draft


def test_a_fact_that_is_missing_is_named(drafter: Drafter) -> None:
    with pytest.raises(InvalidInput, match=r"reply/body needs.*'refund'") as refused:
        drafter(body="{{ facts.refund }}").draft(reply_request("x"))
    assert refused.value.code == "fact_missing"


def test_a_field_without_a_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"reply/subject\.jinja"):
        TemplateDrafter(tmp_path).draft(reply_request("x"))


@pytest.mark.parametrize("body", ["{{ facts.", "{{ facts.__class__.__mro__ }}"])
def test_a_template_that_is_broken_or_reaches_too_far_is_named(
    drafter: Drafter, body: str
) -> None:
    with pytest.raises(Misconfigured, match="reply/body cannot be rendered"):
        drafter(body=body).draft(reply_request("x"))


def test_facts_that_no_text_can_hold_are_refused(drafter: Drafter) -> None:
    with pytest.raises(InvalidInput):
        drafter().draft(
            reply_request("x").model_copy(update={"facts": {"a": "\ud800"}})
        )
