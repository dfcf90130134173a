"""A real SMTP server for tests, which keeps every mail and can fail where it is told.

with RecordingServer("drop_before_reply") as server:
    ...                       # connect to 127.0.0.1, server.port
    server.received           # what the server took, replied to or not
"""

import asyncio
import ssl
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from threading import Thread
from types import TracebackType
from typing import Any, Literal, NoReturn, TypeAlias

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

Behaviour: TypeAlias = Literal[
    "accept",
    "refuse_connection",  # greets with 554
    "refuse_recipient",  # 550 to RCPT
    "drop_after_recipient",  # 250 to RCPT, then gone at DATA
    "drop_in_content",  # 354, gone after the first line
    "try_later",  # takes the content, answers 451 and keeps nothing
    "drop_before_reply",  # keeps the mail, gone before the 250
    "hang_before_reply",  # keeps the mail, never answers
    "drop_at_quit",  # keeps the mail, 250, gone at QUIT
]


@dataclass(frozen=True, kw_only=True)
class Received:
    """One mail that the server took, with its content as it came over the wire."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes


class RecordingServer:
    """Listens on a free port of 127.0.0.1.

    `behaviour` and `last_word`, the reply to the content, may change between mails.
    """

    def __init__(
        self,
        behaviour: Behaviour = "accept",
        *,
        tls: ssl.SSLContext | None = None,
        starttls: ssl.SSLContext | None = None,
        password: str | None = None,
    ) -> None:
        self.behaviour = behaviour
        self.last_word = b"250 2.0.0 taken"
        self.password = password
        self.received: list[Received] = []
        self._tls = tls
        self._starttls = starttls
        self._connections: list[_Connection] = []
        self._listening: Future[int] = Future()
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> "RecordingServer":
        self._thread.start()
        self.port = self._listening.result(timeout=10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=10)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            server = await self._loop.create_server(
                self._connection, "127.0.0.1", 0, ssl=self._tls
            )
        except OSError as exc:
            self._listening.set_exception(exc)
            return
        self._listening.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        for connection in self._connections:
            connection.drop()
        await server.wait_closed()

    def _connection(self) -> "_Connection":
        connection = _Connection(self, starttls=self._starttls)
        self._connections.append(connection)
        return connection

    def keep(self, envelope: Envelope) -> None:
        """Record a mail whose content has arrived completely."""
        assert isinstance(envelope.original_content, bytes)
        self.received.append(
            Received(
                sender=envelope.mail_from or "",
                recipients=tuple(envelope.rcpt_tos),
                content=envelope.original_content,
            )
        )


class _Connection(SMTP):
    """aiosmtpd's server side of one connection, with the failures put in."""

    def __init__(
        self, recorder: RecordingServer, *, starttls: ssl.SSLContext | None
    ) -> None:
        super().__init__(
            _Handler(recorder),
            hostname="mail.test",
            loop=asyncio.get_running_loop(),
            tls_context=starttls,
            require_starttls=starttls is not None,
            auth_required=recorder.password is not None,
            authenticator=self._log_in,
        )
        self._recorder = recorder

    async def _handle_client(self) -> None:
        if self._recorder.behaviour == "refuse_connection":
            await self.push("554 no service here")
            await self.vanish()
        await super()._handle_client()

    async def smtp_DATA(self, arg: str) -> None:
        if self._recorder.behaviour == "drop_after_recipient":
            await self.vanish()
        if self._recorder.behaviour == "drop_in_content":
            await self.push("354 go on")
            await self._reader.readline()
            await self.vanish()
        await super().smtp_DATA(arg)

    async def vanish(self) -> NoReturn:
        """Cut the connection; never returns, the loss of it cancels the caller."""
        self.drop()
        await self.hang()

    async def hang(self) -> NoReturn:
        """Say nothing more until the client is gone or the server stops."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nothing completes this future")

    def drop(self) -> None:
        """Cut the connection if it still stands."""
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()

    def _log_in(
        self, server: SMTP, session: Session, envelope: Envelope, kind: str, data: Any
    ) -> AuthResult:
        wanted = (self._recorder.password or "").encode()
        return AuthResult(success=data.password == wanted, handled=False)


class _Handler:
    """The hooks that aiosmtpd calls; `server` is the connection."""

    def __init__(self, recorder: RecordingServer) -> None:
        self._recorder = recorder

    async def handle_RCPT(
        self,
        server: _Connection,
        session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        if self._recorder.behaviour == "refuse_recipient":
            return "550 5.1.1 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(
        self, server: _Connection, session: Session, envelope: Envelope
    ) -> bytes:
        behaviour = self._recorder.behaviour
        if behaviour == "try_later":
            return b"451 4.3.0 try again later"
        self._recorder.keep(envelope)
        if behaviour == "drop_before_reply":
            await server.vanish()
        if behaviour == "hang_before_reply":
            await server.hang()
        return self._recorder.last_word

    async def handle_QUIT(
        self, server: _Connection, session: Session, envelope: Envelope
    ) -> str:
        if self._recorder.behaviour == "drop_at_quit":
            await server.vanish()
        return "221 bye"


def self_signed(address: str) -> bytes:
    """Key and certificate of one IP address, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail.test")])
    host = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(address))])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(host, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + signed.public_bytes(Encoding.PEM)
