"""What the demo says: a few plain lines, in the order in which things happen."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from channels.demo_home import REVIEWER, Identity
from channels.demo_run import Scene
from channels.local_server import flow_run_url
from channels.service import Service
from policies.visible import make_visible

STEPS = 6
_TITLE = 15
_WORTH_TELLING = 0.1
_MAX_TICKET_LINES = 12


class Step:
    """A step under way; `says` is what it came to."""

    says = ""


class Screen:
    """Words for people on `console`, safe to show whatever they quote."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._number = 0

    def say(self, text: str = "", style: str = "") -> None:
        """Print a line that is never wrapped, so that it can be copied whole."""
        self.console.print(Text(make_visible(text), style=style), soft_wrap=True)

    @contextmanager
    def step(self, title: str, meanwhile: str) -> Iterator[Step]:
        """One numbered step: what is done meanwhile, then what it came to and when."""
        self._number += 1
        step, began = Step(), time.monotonic()
        busy = self.console.status(Text(meanwhile)) if meanwhile else nullcontext()
        with busy:
            yield step
        seconds = time.monotonic() - began
        head = Text(f"{self._number}/{STEPS} ", style="dim")
        head.append(f"{title:<{_TITLE}}", style="bold")
        head.append(make_visible(step.says))
        if seconds >= _WORTH_TELLING:
            head.append(f"  {seconds:.1f} s", style="dim")
        self.console.print(head, soft_wrap=True)

    def quote(self, title: str, text: str, most: int | None = None) -> None:
        """Print somebody's text in a frame, its first lines at least."""
        lines = make_visible(text).split("\n")
        if most is not None and len(lines) > most:
            lines = [*lines[:most], "…"]
        body = Text("\n".join(lines) or "(empty)")
        self.console.print(Panel(body, title=Text(make_visible(title)), width=78))

    def ticket(self, ticket: dict[str, object]) -> None:
        """Print what the customer wrote."""
        sender, subject = ticket["sender"], ticket["subject"] or "(no subject)"
        title = f"{sender}: {subject}"
        text = str(ticket["message"]).replace("\r\n", "\n").rstrip()
        self.quote(title, text, _MAX_TICKET_LINES)

    def asks(self, scene: Scene, service: Service) -> None:
        """Print what waits for a person: drafts with their risk, and questions."""
        for item in scene.items:
            shown = service.show(item.id).packet.items[0]
            fields = {field.name: field.value for field in shown.fields}
            title = f"Draft v{shown.payload.version} ({shown.risk_level} risk)"
            head = f"To: {fields.get('recipient')}\nSubject: {fields.get('subject')}"
            self.quote(title, f"{head}\n\n{fields.get('body')}")
        for question in scene.questions:
            self.say(question.question, "bold")

    def ways(
        self, scene: Scene, service: Service, identity: Identity, *, keys: bool
    ) -> None:
        """Print every way to decide that there is, ready to use."""
        page = os.environ["PREFECT_API_URL"].removesuffix("/api")
        run = scene.session.flow_run_id or ""
        item = [scene.items[0].id] if len(scene.items) == 1 else []
        line = command(service, "review", *item, "--as", identity.reviewer)
        rows = [
            ("In a browser", flow_run_url(page, run, "old")),
            ("  or its new UI", flow_run_url(page, run, "new")),
            ("", "Press Resume, fill in the form, and sign it with"),
            ("", f"reviewer {REVIEWER} and the one-time code below."),
            *([("Right here", "Press r.")] if keys else []),
            ("Another terminal", f"PLACET_TOKEN={identity.token} {line}"),
        ]
        self.say()
        self.say("Decide it in one of these ways:", "bold")
        for name, value in rows:
            self.say(f"{name:<18}{value}")
        self.say()


def command(service: Service, *words: str) -> str:
    """A line that works in another terminal of this machine, on the same ledger."""
    places = {
        name: os.environ[name]
        for name in ("PLACET_DATABASE_URL", "PLACET_ARTIFACTS")
        if name in os.environ
    }
    if "PLACET_HOME" in os.environ:
        places["PLACET_HOME"] = str(service.services.settings.home)
    set_to = [f"{name}={shlex.quote(value)}" for name, value in places.items()]
    return " ".join([*set_to, placet(), *map(shlex.quote, words)])


def placet() -> str:
    """How the command is called from here."""
    ours = Path(sys.executable).with_name("placet")
    found = shutil.which("placet")
    if found and Path(found).resolve() == ours.resolve():
        return "placet"
    return shlex.quote(near(ours))


def near(path: Path) -> str:
    """A path as one types it from here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
