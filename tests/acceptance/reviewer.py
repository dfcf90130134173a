"""A reviewer who decides in the browser, at one form after the other."""

from __future__ import annotations

import pyotp

from blocks.ledger import people
from blocks.ledger.clock import utc_now
from policies.visible import GOES_ON
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Person
from tests.acceptance.prefect_form import Form
from tests.acceptance.prefect_ui import PrefectUI
from tests.acceptance.requests_under_way import UnderWay

REASON = "Reason (to reject)"


class Reviewer:
    """One person in front of one of Prefect's pages."""

    def __init__(self, ui: PrefectUI, person: Person) -> None:
        self.ui = ui
        self.id = person.id
        self._clock = pyotp.TOTP(person.seed)
        self.read = ""
        self._last_step = 0

    @property
    def notice(self) -> str:
        """Why the last answer was not recorded, as read above the form."""
        above, _, _ = self.read.partition("\nRequest\n")
        title, _, reason = above.partition("\n")
        assert title == "⚠ Not recorded yet", self.read
        return " ".join(reason.replace(GOES_ON, "").split())

    def open(self, request: UnderWay) -> Form:
        """Open the next form of a request once it is shown, and read the packet."""
        self._form = request.form()
        self.ui.open_resume_form(request.run.id)
        self.read = self.ui.packet_text()
        return self._form

    def decide(
        self, request: UnderWay, *words: str, reason: str = "", code: str = ""
    ) -> bool:
        """Open the next form and send it with a word for each item."""
        self.open(request)
        return self.send(*words, reason=reason, code=code)

    def send(self, *words: str, reason: str = "", code: str = "") -> bool:
        """Fill in the open form and send it; whether Prefect has taken it."""
        self.fill_in(*words, reason=reason, code=code)
        return self.ui.submit()

    def fill_in(self, *words: str, reason: str = "", code: str = "") -> None:
        """Fill in the open form, with a word for each item."""
        for name, word in zip(self._form.verdicts, words, strict=True):
            title = str(self._form.fields[name]["title"])
            self.ui.fill(title, self._form.choice(name, word))
        if reason:
            self.ui.fill(REASON, reason)
        self.ui.fill("Reviewer", self.id)
        title = str(self._form.fields["code"]["title"])
        self.ui.fill(title, code or self.new_code())

    def new_code(self) -> str:
        """A code not used before; the third within half a minute is waited for."""
        step = max(self._last_step + 1, people.step_at(utc_now()))
        # The code of the next step is taken as well, a later one is not.
        eventually(lambda: step <= people.step_at(utc_now()) + 1)
        self._last_step = step
        return self._clock.generate_otp(step)

    def wrong_code(self) -> str:
        """Six digits that are none of their codes for some minutes."""
        now = people.step_at(utc_now())
        right = {self._clock.generate_otp(now + step) for step in range(-2, 20)}
        return next(str(n) for n in range(100_000, 100_099) if str(n) not in right)
