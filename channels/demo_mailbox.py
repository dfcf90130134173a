"""The demo's mail server: real SMTP on 127.0.0.1, which keeps every mail as a file."""

import re
import socket
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from pathlib import Path
from typing import Any, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from policies.errors import Unavailable


class Mail:
    """One mail that arrived, and the file that it is kept in."""

    def __init__(self, content: bytes, file: Path) -> None:
        self.file = file
        self.message: EmailMessage = BytesParser(
            EmailMessage, policy=default
        ).parsebytes(content)

    @property
    def message_id(self) -> str:
        """Its Message-ID, with angle brackets."""
        return str(self.message["Message-ID"] or "").strip()

    @property
    def fields(self) -> dict[str, str]:
        """What it says, named as in the payload that was approved."""
        content = self.message.get_payload(decode=True)
        assert isinstance(content, bytes)
        return {
            "sender": str(self.message["From"]),
            "recipient": str(self.message["To"]),
            "subject": str(self.message["Subject"]),
            "body": content.decode("utf-8").replace("\r\n", "\n"),
        }


class Mailbox:
    """Listens on a free port; `received` is what came since it was opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.received: list[Mail] = []
        self.port = 0
        self._controller: Controller | None = None

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            listener = socket.create_server(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
            self._controller = _Controller(self, listener)
            self._controller.start()
        except (OSError, TimeoutError) as error:
            raise Unavailable(
                f"The demo's mail server does not start: {error}.",
                code="mail_server_failed",
                hint="It needs a free port on 127.0.0.1 and a writable PLACET_HOME.",
            ) from error
        return self

    def __exit__(self, *raised: object) -> None:
        if self._controller is not None:
            self._controller.stop(no_assert=True)

    def find(self, message_id: str) -> list[Mail]:
        """Every mail with this Message-ID, also of earlier demos."""
        files = sorted(self.folder.glob(f"{_name(message_id)}*.eml"))
        mails = [Mail(file.read_bytes(), file) for file in files]
        return [mail for mail in mails if mail.message_id == message_id]

    async def handle_DATA(
        self, server: object, session: object, envelope: Envelope
    ) -> str:
        """Keep a mail; it counts as taken once it is on the disk."""
        assert isinstance(envelope.original_content, bytes)
        try:
            self.received.append(self._keep(envelope.original_content))
        except OSError as error:
            return f"451 4.3.0 cannot be kept: {error.strerror}"
        return "250 2.0.0 kept by the demo"

    def _keep(self, content: bytes) -> Mail:
        mail = Mail(content, self.folder)
        again = len(self.find(mail.message_id))
        number = f"-{again + 1}" if again else ""
        mail.file = self.folder / f"{_name(mail.message_id)}{number}.eml"
        mail.file.write_bytes(content)
        return mail


def _name(message_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", message_id.strip("<>").split("@")[0])[:100]


class _Controller(Controller):
    """Serves on a socket that is bound already: no port can be lost meanwhile."""

    def __init__(self, mailbox: Mailbox, listener: socket.socket) -> None:
        # Named, since asking the system for its name can take seconds.
        super().__init__(
            mailbox,
            hostname="127.0.0.1",
            port=mailbox.port,
            server_hostname="demo.placet.example",
        )
        self._listener = listener

    def _create_server(self) -> Any:
        return self.loop.create_server(self._factory_invoker, sock=self._listener)
