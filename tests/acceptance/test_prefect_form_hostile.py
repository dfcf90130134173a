"""Published hostile texts through ticket, form and mail: the same, and harmless."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from unicodedata import normalize
from urllib.parse import urlsplit

import pytest

from policies.visible import GOES_ON, has_invisible, is_storable, make_visible
from tests.acceptance.prefect_ui import PrefectUI
from tests.acceptance.requests_under_way import Carrier
from tests.acceptance.reviewer import Reviewer
from tests.cases import case_lines, needs_cases

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = needs_cases

CANARY = """
window.canary = 0
for (const name of ["alert", "confirm", "prompt", "print"])
    window[name] = () => { window.canary += 1 }
"""
SAMPLE = {
    "xss": 14,
    "approval_lookalikes": 24,
    "template_injection": 6,
    "trojan_source": 6,
    "csv_and_crlf": 4,
    "prompt_injection": 4,
    "blns": 6,
}
# The new page asks for a configuration of its own; no name is resolved here.
OF_PREFECT = "sr-client-cfg.amplitude.com"
PLAIN = {"H2", "H3", "P", "DIV", "UL", "LI", "STRONG", "CODE", "PRE", "SPAN"}


def sample(name: str) -> list[str]:
    """Some texts of a file, from all of it; of xss those that fire by themselves."""
    found: list[str] = [
        case["text"]
        for case in case_lines("hostile", f"{name}.jsonl")
        if case.get("fires_raw", True) and is_storable(case["text"])
    ]
    size = SAMPLE[name]
    return found[:: max(1, len(found) // size)][:size]


def texts() -> list[str]:
    """The sample of all files."""
    return [text for name in SAMPLE for text in sample(name)]


def fits_a_reply(text: str) -> bool:
    """Whether a draft may hold it: no double braces, and not only padding."""
    return "{{" not in text and "}}" not in text and len(text) < 4_000


def as_shown(text: str, indent: str = "") -> str:
    """A text as it stands in a code block."""
    plain = normalize("NFC", make_visible(text)).replace("↪", "⟦U+21AA⟧")
    return "\n".join(indent + line for line in plain.split("\n"))


def as_sent(text: str) -> str:
    """A text as a mail has it: the same letters, and LF at the end of lines."""
    return normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def blocks(ui: PrefectUI) -> list[str]:
    """The packet's code blocks, with their long lines whole again."""
    found = ui.form.locator(ui.packet).locator("pre").all_text_contents()
    return [block.replace(f"\n{GOES_ON}", "").removesuffix("\n") for block in found]


def made_of(ui: PrefectUI) -> set[str]:
    """The elements of the packet."""
    names: Any = ui.form.locator(ui.packet).evaluate(
        "packet => [...packet.querySelectorAll('*')].map(part => part.tagName)"
    )
    return set(names)


@pytest.fixture
def asked_hosts(page: Page) -> set[str | None]:
    """Whom the page has asked for anything; alert and the like only count.

    None stands for what is asked of nobody: images in the page's own style.
    """
    hosts: set[str | None] = set()
    page.add_init_script(CANARY)
    page.on("request", lambda asked: hosts.add(urlsplit(asked.url).hostname))
    return hosts


def test_hostile_texts_are_shown_harmless_and_sent_as_they_were_approved(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI, asked_hosts: set[str | None]
) -> None:
    """Q8: as a customer's name, as subject, message and draft."""
    name, subject = (text for text in sample("xss")[:2])
    message, reply = "\n".join(texts()), "\n".join(filter(fits_a_reply, texts()))
    given = {"subject": subject, "message": message, "suggested_reply": reply}
    request = carrier.start(name, **given)
    reviewer.open(request)
    shown = blocks(ui)
    # Evidence shows a mail's CR LF as the end of a line.
    asked = as_shown(message.replace("\r\n", "\n"), "    ")
    assert [block for block in shown if asked in block]
    assert as_shown(request.mail_of()["body"]) in shown
    assert name in reviewer.read.replace(f"\n{GOES_ON}", "")
    assert not has_invisible(reviewer.read.replace("⟦", ""))
    assert made_of(ui) <= PLAIN
    assert ui.out_of_sight() == []
    assert len(ui.fields()) == 4
    assert reviewer.send("approve")
    assert request.ended() == "completed"
    assert request.mails == [request.mail_of()]
    assert request.mails[0]["body"] == as_sent(reply)
    assert ui.page.evaluate("canary") == 0
    assert asked_hosts <= {"127.0.0.1", OF_PREFECT, None}


def test_a_reviewer_cannot_add_a_header_or_a_recipient(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI
) -> None:
    """X1: a line break in a subject is refused, and the form says so."""
    request = carrier.start()
    form = request.form()
    request.run.resume({**form.choose("edit"), "reviewer": "-", "code": "-"})
    reviewer.open(request)
    ui.fill("1. Edit subject", "Re: yours\r\nBcc: all@acme.example")
    reviewer.send("edit")
    reviewer.open(request)
    assert "must not hold the character U+000A" in reviewer.notice
    assert request.items[0].version == 1
    carrier.let_go(request.id)


def test_the_check_for_scripts_bites(page: Page) -> None:
    """Each of these texts fires where it is put into a page as it is."""
    page.add_init_script(CANARY)
    for text in sample("xss"):
        # The last one is asked first.
        page.route("**", partial(answer, text))
        page.goto("http://127.0.0.1/")
        page.wait_for_function("canary > 0")


def answer(text: str, asked: Route) -> None:
    """A page that holds nothing but this text."""
    asked.fulfill(content_type="text/html", body=f"<body><p>{text}")
