"""The person at the terminal: shown things safely, asked one line at a time."""

import getpass
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from channels.packet_view import print_packet
from policies.plan import ReviewPacket
from policies.visible import make_visible

END = "."
# Whoever only sends line ends by a pipe must not be asked for ever.
_TRIES = 100


class Terminal:
    """Prints to `console`, reads from standard input.

    Every question raises `EOFError` at the end of the input and leaves Ctrl-C alone.
    """

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, text: str = "", style: str = "") -> None:
        """Print words."""
        self.console.print(Text(make_visible(text), style=style))

    def head(self, text: str) -> None:
        """Print the head of what follows."""
        self.console.print(Rule(Text(make_visible(text), style="bold"), align="left"))

    def show(self, packet: ReviewPacket) -> None:
        """Print a packet. What was typed before it could be seen is thrown away."""
        print_packet(packet, self.console)
        if sys.stdin.isatty():
            _forget_typed_ahead()

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Show that something is under way, as long as it lasts."""
        with self.console.status(Text(make_visible(text))):
            yield

    def choose(self, prompt: str, meaning: Mapping[str, str], otherwise: str) -> str:
        """What the person's word means; anything else than these words asks again."""
        for _ in range(_TRIES):
            word = self.ask(prompt)
            if word in meaning:
                return meaning[word]
            self.say(otherwise, "yellow")
        raise EOFError

    def ask(self, prompt: str) -> str:
        """One line, without white space around it."""
        self.console.print(Text(make_visible(prompt)), end=" ", soft_wrap=True)
        line = self._line().strip()
        if not sys.stdin.isatty():
            self.console.print()
        return line

    def ask_secret(self, prompt: str) -> str:
        """One line that is not echoed."""
        return getpass.getpass(prompt + " ").strip()

    def edit(self, name: str, text: str, *, multiline: bool) -> str:
        """The text as the person wants it; the same text if they leave it."""
        if not multiline:
            line = self.ask(f"{name}, on one line; Enter keeps it as it is:")
            return line or text
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if editor and sys.stdin.isatty():
            return self._edit_in_file(editor, text)
        return self._lines(name, text)

    def _edit_in_file(self, editor: str, text: str) -> str:
        """Let an editor change a private file; where it fails, nothing is changed."""
        with tempfile.TemporaryDirectory(prefix="placet-") as folder:
            file = Path(folder) / "edit.txt"
            file.write_text(text, encoding="utf-8", newline="")
            try:
                command = [*shlex.split(editor), str(file)]
                subprocess.run(command, check=True, stdout=self.console.file)
                changed = file.read_bytes().decode("utf-8")
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                self.say(f"The editor failed, nothing is changed: {error}", "yellow")
                return text
        # Editors end a file with a line feed of their own.
        return changed if text.endswith("\n") else changed.removesuffix("\n")

    def _lines(self, name: str, text: str) -> str:
        self.say(f"{name}: type the whole new text, then {END!r} on a line of its own.")
        self.say(f"{END!r} at once keeps it as it is. With EDITOR set, that is used.")
        lines: list[str] = []
        while (line := self._line()) != END:
            lines.append(line)
        return "\n".join(lines) if lines else text

    def _line(self) -> str:
        while True:
            try:
                line = sys.stdin.readline()
                line.encode()
            except UnicodeError:
                self.say("That was no readable text. Once more:", "yellow")
                continue
            if not line:
                self.console.print()
                raise EOFError
            return line.rstrip("\r\n")


def _forget_typed_ahead() -> None:
    import termios

    with suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
