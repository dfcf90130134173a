"""The main job on this machine, end to end, on real parts that end with it.

A ticket, a draft, a person's decision, a mail that is exactly what was approved.
"""

from contextlib import ExitStack
from pathlib import Path

from blocks.settings import load_settings
from blocks.support_email import store
from channels.demo_home import TENANT, Asked, DemoHome, Identity
from channels.demo_mailbox import Mailbox
from channels.demo_result import Ending, decision_of, ending_of, tell
from channels.demo_run import DemoRun
from channels.demo_screen import Screen, near
from channels.demo_script import Answer, decide_by_script
from channels.demo_watch import Watch
from channels.local_run import prefect_api
from channels.stopping import ended_by_signals, status_of


class Demo:
    """One demo; `answers` decides by script, otherwise a person does."""

    def __init__(self, screen: Screen, answers: Answer | None) -> None:
        self._screen = screen
        self._answers = answers
        self._home = DemoHome(load_settings())

    def run(self, ticket: Path | None) -> Ending:
        """From the ticket to the end of its request; nothing is left running."""
        words = "A ticket, a draft, your decision, a mail: all of it on this machine."
        self._screen.say(words, "bold")
        with ExitStack() as parts:
            parts.enter_context(ended_by_signals())
            parts.enter_context(self._home.alone())
            identity = self._prepare()
            scripted = self._answers is not None
            asked, goes_on = self._home.asked(ticket, first=scripted)
            try:
                return self._carry(parts, identity, asked, goes_on)
            except (KeyboardInterrupt, SystemExit) as stop:
                parts.close()
                self._say_how_to_go_on(asked)
                raise SystemExit(status_of(stop)) from None

    def _prepare(self) -> Identity:
        with self._screen.step("Home", "Making the ledger ready…") as step:
            identity = self._home.prepare()
            step.says = f"{near(self._home.folder)}, with ledger, key and tickets"
        return identity

    def _carry(
        self, parts: ExitStack, identity: Identity, asked: Asked, goes_on: bool
    ) -> Ending:
        screen, home = self._screen, self._home
        with screen.step("Prefect", "Starting Prefect, at first for 10 s…") as step:
            api_url = parts.enter_context(prefect_api(home.service.services.settings))
            step.says = f"server and UI at {api_url.removesuffix('/api')}"
        with screen.step("Mail server", "Starting a mail server…") as step:
            mailbox = parts.enter_context(Mailbox(home.folder / "outbox"))
            step.says = f"127.0.0.1:{mailbox.port}, mails stay on this machine"
        self._show_ticket(asked, goes_on)
        run = parts.enter_context(DemoRun(home, asked, api_url, mailbox.port))
        self._draft(run)
        self._decide(run, identity)
        ending = ending_of(home.service, asked.workflow, mailbox)
        tell(ending, screen, home.service, mailbox.folder)
        return ending

    def _show_ticket(self, asked: Asked, goes_on: bool) -> None:
        home = self._home
        with self._screen.step("Ticket", "") as step:
            with home.service.services.ledger.read() as tx:
                ticket = store.ticket(tx, TENANT, asked.ticket)
            step.says = (
                f"{asked.ticket}, whose request was left open"
                if goes_on
                else (asked.ticket)
            )
        self._screen.ticket(ticket)

    def _draft(self, run: DemoRun) -> None:
        if (seconds := run.lease_left()) > 0:
            self._screen.say(
                f"The last demo was killed; its lease on the request runs out in "
                f"{seconds:.0f} s, then this one goes on."
            )
        with self._screen.step("Draft", "The run starts and drafts a reply…") as step:
            run.wait(lambda: run.is_closed() or run.is_asking())
            scene = None if run.is_closed() else run.scene()
            if scene is None:
                step.says = f"nothing is asked: the request is {run.status()}"
            elif scene.items:
                step.says = "made; the run waits for a person"
            else:
                step.says = "the run has to ask a person first"

    def _decide(self, run: DemoRun, identity: Identity) -> None:
        service = self._home.service
        meanwhile = f"Deciding: {self._answers}…" if self._answers else ""
        with self._screen.step("Decision", meanwhile) as step:
            if self._answers is not None:
                decide_by_script(self._answers, run, service, identity)
            else:
                Watch(run, service, identity, self._screen).until_closed()
            by = ", by script" if self._answers else ""
            step.says = f"{decision_of(run.status())}{by}"

    def _say_how_to_go_on(self, asked: Asked) -> None:
        self._screen.say()
        self._screen.say("Stopped; nothing is left running.")
        self._screen.say(
            f"The request for {asked.ticket} waits; the same command goes on with it."
        )
