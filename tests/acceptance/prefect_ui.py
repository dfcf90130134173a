"""A person at the form that Prefect shows for a paused run, in its old or new UI.

Fields are named by the title that the person reads. What the two pages have in common
is here once: a title stands in the nearest element that also holds the field.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal
from uuid import UUID

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Response

UiName = Literal["old", "new"]

# What Prefect answers on SQLite while somebody else writes: one presses again.
BUSY = 503
# The format `json-string` is a code editor, in the new UI without a text area.
_BOX = "textarea, input[type=number], [contenteditable=true]"

_CUT_OFF = """packet => [...packet.querySelectorAll("*")].filter(part =>
    part.getBoundingClientRect().right > packet.getBoundingClientRect().right + 1
    || part.tagName == "PRE" && part.scrollWidth > part.clientWidth + 1
).map(part => part.textContent)"""


class PrefectUI(ABC):
    """The page and the form of one paused run; `url` is the server's root."""

    path: ClassVar[str]
    titles: ClassVar[str]
    packet: ClassVar[str]
    options: ClassVar[str]
    button: ClassVar[str]
    field_errors: ClassVar[str]
    toasts: ClassVar[str]

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.form = page.get_by_role("dialog")

    def open_resume_form(self, run_id: UUID | str) -> None:
        """Open the run's page and its form; the run must be paused."""
        address = f"{self.url}{self.path}/runs/flow-run/{run_id}"
        self.page.goto(address, wait_until="commit")
        self._ask_for_form()
        self.form.locator(self.titles).first.wait_for()
        # The new page brings the packet later than the form.
        self.form.locator(self.packet).locator("code").first.wait_for()

    def fields(self) -> list[str]:
        """The titles as a person reads them, from top to bottom."""
        titles = self.form.locator(self.titles).all_inner_texts()
        return [title.strip() for title in titles]

    def choices(self, title: str) -> list[str]:
        """What a drop-down offers."""
        self._open_choices(self._field(title))
        offered = self.page.locator(self.options).all_inner_texts()
        self.page.keyboard.press("Escape")
        self._wait_until_closed()
        return offered

    def value(self, title: str) -> str:
        """What a text, an editor or a number field holds now."""
        box = self._field(title).locator(_BOX)
        if box.get_attribute("contenteditable"):
            return "\n".join(box.locator(".cm-line").all_text_contents())
        return box.input_value()

    def fill(self, title: str, value: str | int | float | bool) -> None:
        """Set one field: a drop-down, a text, an editor, a number or a switch."""
        field = self._field(title)
        box = field.locator(_BOX)
        if isinstance(value, bool):
            self._turn(field.get_by_role("switch"), value)
        elif box.count():
            self._write(box, str(value))
        else:
            self._open_choices(field)
            self.page.locator(self.options).get_by_text(str(value), exact=True).click()
            self._wait_until_closed()

    def scroll_to(self, title: str) -> None:
        """Bring one field into sight."""
        self._field(title).scroll_into_view_if_needed()

    def submit(self) -> bool:
        """Press the button: True once the server took the answer, False if refused."""
        answer = self._press()
        while answer.status == BUSY:
            answer = self._press()
        if json.loads(answer.text()).get("status") == "ACCEPT":
            self.form.wait_for(state="hidden")
            return True
        self._errors().first.wait_for()
        return False

    def form_errors(self) -> list[str]:
        """What the page says is wrong with the last answer."""
        return self._errors().all_inner_texts()

    def packet_text(self) -> str:
        """The Markdown above the form, also where the page leaves no room for it."""
        return self.form.locator(self.packet).inner_text()

    def packet_height(self) -> float:
        """How much of the packet can be seen at once, in CSS pixels."""
        box = self.form.locator(self.packet).bounding_box()
        return 0.0 if box is None else box["height"]

    def out_of_sight(self) -> list[str]:
        """The parts of the packet that are cut off, or have to be scrolled sideways."""
        parts: list[str] = self.form.locator(self.packet).evaluate(_CUT_OFF)
        return parts

    def screenshot(self, path: Path) -> None:
        """Keep what the page looks like now, once nothing moves."""
        self.page.screenshot(path=path, animations="disabled")

    def _press(self) -> Response:
        self._forget_toasts()
        with self.page.expect_response(self._ends_the_attempt) as answer:
            self.form.get_by_role("button", name=self.button).click()
        return answer.value

    def _field(self, title: str) -> Locator:
        name = re.compile(rf"^\s*{re.escape(title)}( \(Optional\))?\s*$")
        label = self.form.locator(self.titles).filter(has_text=name)
        return label.locator("xpath=ancestor::*[.//fieldset][1]")

    def _write(self, box: Locator, text: str) -> None:
        box.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(text)

    def _wait_until_closed(self) -> None:
        """A list that is still closing would be taken for the next one."""
        self.page.locator(self.options).first.wait_for(state="hidden")

    def _turn(self, switch: Locator, on: bool) -> None:
        if switch.get_attribute("aria-checked") != str(on).lower():
            switch.click()

    def _errors(self) -> Locator:
        shown = f"{self.field_errors}, {self.toasts}:not([data-seen] *)"
        # The old UI keeps a hidden copy of each message.
        return self.page.locator(shown).filter(visible=True)

    def _forget_toasts(self) -> None:
        """A message of an earlier attempt stays on the page for some seconds."""
        mark = "all => all.forEach(one => one.parentElement.dataset.seen = '')"
        self.page.locator(self.toasts).evaluate_all(mark)

    @abstractmethod
    def _ask_for_form(self) -> None: ...

    @abstractmethod
    def _open_choices(self, field: Locator) -> None: ...

    @abstractmethod
    def _ends_the_attempt(self, response: Response) -> bool: ...


class OldPrefectUI(PrefectUI):
    """The UI at `/`: checks the form itself, then marks the fields that are wrong."""

    path = ""
    titles = ".schema-form-property__label"
    packet = ".p-modal__body > .markdown-renderer"
    options = ".p-select-option"
    button = "Submit"
    field_errors = ".p-label__message"
    toasts = ".p-toast__icon--error + .p-toast__message"

    def _ask_for_form(self) -> None:
        self.page.get_by_role("button", name="Resume").click()

    def _open_choices(self, field: Locator) -> None:
        # A click on the text opens the list and closes it again.
        field.locator(".p-select-button__icon").click()
        self.page.locator(self.options).first.wait_for()

    def _ends_the_attempt(self, response: Response) -> bool:
        if response.url.endswith("/ui/schemas/validate"):
            said = json.loads(response.text())
            return response.status == BUSY or said.get("valid") is False
        return response.url.endswith("/resume")


class NewPrefectUI(PrefectUI):
    """The UI at `/v2`: leaves the check to the server and shows its first objection."""

    path = "/v2"
    titles = "label[data-slot=label]"
    packet = ".prose"
    options = "[role=option]"
    button = "Resume"
    field_errors = "p.text-destructive"
    toasts = "[data-sonner-toast][data-type=error] [data-title]"

    def _ask_for_form(self) -> None:
        self.page.get_by_role("button", name="Open menu").click()
        self.page.get_by_role("menuitem", name="Resume").click()

    def _open_choices(self, field: Locator) -> None:
        field.locator("[aria-haspopup=listbox]").click()
        self.page.locator(self.options).first.wait_for()

    def _ends_the_attempt(self, response: Response) -> bool:
        return response.url.endswith("/resume")


UIS: dict[UiName, type[PrefectUI]] = {"old": OldPrefectUI, "new": NewPrefectUI}
