"""Waiting with a person for their decision, wherever they take it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyotp
from rich.live import Live
from rich.text import Text

from blocks.ledger import items, people, verdicts
from channels.demo_home import REVIEWER, Identity
from channels.demo_keys import Keys
from channels.demo_run import DemoRun, Scene
from channels.demo_screen import Screen
from channels.review import Review
from channels.review_terminal import Terminal
from channels.service import Service

_LOOK_EVERY = 0.25


class Watch:
    """Shows what is asked and a one-time code that works, until the request ends."""

    def __init__(
        self, run: DemoRun, service: Service, identity: Identity, screen: Screen
    ) -> None:
        self._run = run
        self._service = service
        self._identity = identity
        self._screen = screen
        self._keys = Keys()
        self._scene: Scene | None = None
        self._told = 0

    def until_closed(self) -> None:
        """Wait until the request has ended."""
        while not self._run.is_closed():
            if self._wait() == "r":
                self._review()

    def _wait(self) -> str:
        """Until `r` is pressed, or the request has ended."""
        with self._keys.listen(), self._last_line() as show:
            while not self._run.is_closed():
                self._run.check_alive()
                self._tell_news()
                show(self._prompt())
                if (key := self._keys.next(_LOOK_EVERY)) == "r":
                    return key
            self._tell_verdicts()
        return ""

    def _review(self) -> None:
        """Review here and now, as `placet review` does."""
        terminal = Terminal(self._screen.console)
        with self._service.services.ledger.read() as tx:
            who = people.load(tx, REVIEWER)
        sitting = Review(self._service, who, self._identity.proof, terminal)
        try:
            if not sitting.everything(self._run.workflow):
                terminal.say("Nothing waits for you just now.")
        except EOFError:
            terminal.say("Nothing more was decided.")
        # The sitting has told them already.
        self._told = len(self._verdicts())

    def _tell_news(self) -> None:
        """Tell what is asked now, where that is not what was told before."""
        self._tell_verdicts()
        scene = self._run.scene()
        if scene is None or not (scene.items or scene.questions):
            return
        before, self._scene = self._scene, scene
        if before is None or _asked(before) != _asked(scene):
            self._screen.asks(scene, self._service)
            self._screen.ways(
                scene, self._service, self._identity, keys=self._keys.there
            )
        if scene.notice and (before is None or before.pause != scene.pause):
            self._screen.say("The form was not accepted, and asks again:", "yellow")
            self._screen.say(f"  {scene.notice}")

    def _tell_verdicts(self) -> None:
        said = self._verdicts()
        for line in said[self._told :]:
            self._screen.say(line, "green")
        self._told = len(said)

    def _verdicts(self) -> list[str]:
        with self._service.services.ledger.read() as tx:
            rows = [
                row
                for item in items.of_workflow(tx, self._run.workflow)
                for row in verdicts.of_item(tx, item.id)
            ]
        return [
            f"{row['verdict']}: version {row['version']}, by {row['reviewer']} "
            f"({row['channel']})"
            for row in rows
        ]

    def _prompt(self) -> Text:
        """A code that works now, and what can be pressed."""
        with self._service.services.ledger.read() as tx:
            step = people.step_at(tx.now)
            # The next one is accepted already; a code works once.
            step += people.is_used(tx, REVIEWER, step)
            left = (step + 2) * people.STEP_SECONDS - int(tx.now.timestamp())
        code = pyotp.TOTP(self._identity.seed).generate_otp(step)
        line = Text("One-time code ", style="dim")
        line.append(code, style="bold")
        line.append(f" (works for {left} s)", style="dim")
        if self._keys.there:
            line.append("   r: review here   Ctrl-C: stop", style="dim")
        return line

    @contextmanager
    def _last_line(self) -> Iterator[Callable[[Text], None]]:
        """The last line of the screen, drawn anew each time; or a line when it changes.

        A line that is printed gives the code alone: how long it works would be new
        every second.
        """
        console = self._screen.console
        if console.is_terminal:
            with Live(console=console, auto_refresh=False, transient=True) as live:
                yield lambda line: live.update(line, refresh=True)
            return
        printed = ""

        def show(line: Text) -> None:
            nonlocal printed
            head = line.plain.partition(" (")[0]
            if head != printed:
                console.print(head, soft_wrap=True)
            printed = head

        yield show


def _asked(scene: Scene) -> tuple[object, ...]:
    shown = tuple((item.id, item.version) for item in scene.items)
    return (shown, tuple(question.id for question in scene.questions))
