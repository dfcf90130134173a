"""An HTTP server as a provider: the stored bytes, under the operation's key.

The border is the connection: what fails before there is one was not sent. From there
on only a status tells: 2xx is accepted, 4xx is refused, and anything else (a lost
connection, a time-out, 3xx, 5xx, or a 4xx that means "not now") is unknown.

A server can act on nothing before the body's last byte, which is sent only after the
operation was confirmed once more.
"""

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Literal

import httpx
from pydantic import Field, ValidationError

from blocks.http_settings import HttpSettings
from blocks.provider import (
    Answer,
    AnswerKind,
    Finding,
    FindingKind,
    Promise,
    Sendable,
)
from policies.errors import PlacetError
from policies.problems import problems_of
from policies.value import Json, Value
from policies.visible import make_visible

KEY_HEADER = "Idempotency-Key"
# "Not now" is no refusal: 408 and 425 were not judged, 409 is in progress in the IETF
# draft and at Stripe, 429 may come after the work was begun.
_NOT_NOW = frozenset({408, 409, 425, 429})
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
)
_KEPT_HEADERS = (
    "content-type",
    "date",
    "idempotent-replayed",
    "location",
    "request-id",
    "retry-after",
    "x-request-id",
)
# httpcore's name for the moment after a connection is made and before a byte is sent.
_ABOUT_TO_SEND = "http11.send_request_headers.started"
_READ_LIMIT = 64 * 1024
_KEPT_LIMIT = 4096
_WORDS_LIMIT = 200
_SAFE = r"[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*"


class HttpEnvelope(Value):
    """What goes with the bytes. Paths are below the settings' base URL.

    `look_up` is a path in which `{key}` stands for the operation's key. `ref` names
    the member of a JSON answer by which the provider itself calls the operation.
    """

    method: Literal["POST", "PUT"] = "POST"
    path: str = Field(pattern=rf"^/{_SAFE}$")
    content_type: str = "application/json"
    look_up: str | None = Field(default=None, pattern=rf"^/{_SAFE}\{{key\}}{_SAFE}$")
    ref: str | None = None


class _Said(Value):
    """A server's answer, as far as it is read and kept."""

    status: int
    headers: dict[str, Json]
    text: str

    @property
    def kept(self) -> dict[str, Json]:
        return {
            "status": self.status,
            "headers": self.headers,
            "body": self.text[:_KEPT_LIMIT],
        }

    @property
    def words(self) -> str:
        """One line: the status, and the beginning of what was said with it."""
        return f"{self.status} {_line(self.text)}".strip().rstrip(".")

    def ref(self, name: str | None) -> str | None:
        """The member of that name, where the body is a JSON object that has it."""
        try:
            body = json.loads(self.text) if name else None
        except (ValueError, RecursionError):
            return None
        found = body.get(name) if isinstance(body, dict) else None
        is_name = isinstance(found, str | int) and not isinstance(found, bool)
        return _line(str(found)) or None if is_name else None


class HttpProvider:
    """One HTTP server."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings

    @property
    def promise(self) -> Promise:
        """What the server is declared to keep."""
        return self._settings.promise

    def send(self, operation: Sendable) -> Answer:
        """Hand the bytes over as they are; the envelope is an `HttpEnvelope`."""
        key = operation.key
        try:
            sent = HttpEnvelope.model_validate(operation.envelope)
        except ValidationError as error:
            found = "; ".join(problems_of(error, "the envelope"))
            return _failed("refused", f"The operation cannot be sent: {found}", key)
        try:
            said = self._write(sent, operation)
        except PlacetError:
            # It may not be sent any more; what was begun lacks its end.
            raise
        except _NOT_SENT as error:
            words = f"No connection to {self._settings.base_url}: {_cause(error)}"
            return _failed("refused", f"{words}. Nothing was sent", key)
        except Exception as error:
            return _failed("unknown", f"No answer came: {_cause(error)}", key)
        kind = _kind(said.status)
        return Answer(
            kind=kind,
            detail=_in_words(kind, said),
            provider_ref=said.ref(sent.ref) or key,
            said=said.kept,
        )

    def look_up(self, key: str, envelope: dict[str, Json]) -> Finding:
        """Ask for the operation by its key; 200 it happened, 404 it did not."""
        try:
            sent = HttpEnvelope.model_validate(envelope)
            if not self.promise.looks_up or sent.look_up is None:
                return _unclear("the provider does not tell what became of a key", key)
            path = sent.look_up.replace("{key}", key)
            said = self._exchange("GET", path, {})
        except Exception as error:
            return _unclear(f"no answer came: {_cause(error)}", key)
        return Finding(
            kind=_FOUND.get(said.status, "can't tell"),
            detail=f"asked by its key, the provider answered {said.words}",
            provider_ref=said.ref(sent.ref) or key,
            said=said.kept,
        )

    def _write(self, sent: HttpEnvelope, operation: Sendable) -> _Said:
        body = operation.take_body()
        headers = {
            "Content-Type": sent.content_type,
            "Content-Length": str(len(body)),
            KEY_HEADER: operation.key,
        }

        def trace(event: str, _: object) -> None:
            if event == _ABOUT_TO_SEND:
                operation.confirm()

        content = _last_byte_apart(body, operation.confirm)
        return self._exchange(sent.method, sent.path, headers, content, trace)

    def _exchange(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        content: Iterator[bytes] | None = None,
        trace: Callable[[str, object], None] | None = None,
    ) -> _Said:
        """One request on a connection of its own, never repeated or redirected."""
        settings = self._settings
        # Packed, a small answer could unpack to any size.
        headers = {**headers, "Accept-Encoding": "identity", "User-Agent": "placet"}
        token = settings.token.get_secret_value() if settings.token else ""
        if token:
            headers["Authorization"] = f"Bearer {token}"
        url = settings.base_url + path
        timeout = settings.timeout_seconds
        with (
            httpx.Client(
                timeout=timeout, follow_redirects=False, verify=_tls()
            ) as client,
            client.stream(
                method,
                url,
                headers=headers,
                content=content,
                extensions={"trace": trace} if trace else {},
            ) as response,
        ):
            text = _read(response, timeout).decode("utf-8", errors="replace")
            return _said(response.status_code, response.headers, text, token)


@cache
def _tls() -> ssl.SSLContext:
    """Reading all certificates takes longer than a request on a short way."""
    return httpx.create_ssl_context()


_FOUND: dict[int, FindingKind] = {200: "happened", 404: "did not happen"}


def _last_byte_apart(body: bytes, confirm: Callable[[], None]) -> Iterator[bytes]:
    if body:
        yield body[:-1]
        confirm()
        yield body[-1:]


def _read(response: httpx.Response, seconds: float) -> bytes:
    """The beginning of the body; that the rest does not come changes nothing."""
    read, until = b"", time.monotonic() + seconds
    try:
        for chunk in response.iter_raw():
            read += chunk
            if len(read) >= _READ_LIMIT or time.monotonic() >= until:
                break
    except httpx.HTTPError:
        return read
    return read[:_READ_LIMIT]


def _said(status: int, headers: Mapping[str, str], text: str, token: str) -> _Said:
    """What is kept; a server that repeats the token does not bring it into records."""

    def without_token(told: str) -> str:
        return told.replace(token, "[token]") if token else told

    kept: dict[str, Json] = {
        name: without_token(headers[name])[:_WORDS_LIMIT]
        for name in _KEPT_HEADERS
        if name in headers
    }
    return _Said(status=status, headers=kept, text=without_token(text))


def _kind(status: int) -> AnswerKind:
    if 200 <= status < 300:
        return "accepted"
    if 400 <= status < 500 and status not in _NOT_NOW:
        return "refused"
    return "unknown"


def _in_words(kind: AnswerKind, said: _Said) -> str:
    if kind == "accepted":
        return f"The provider did it: {said.words}."
    if kind == "refused":
        return f"The provider said no: {said.words}. Nothing happened."
    return f"The provider's answer tells nothing: {said.words}. It may have happened."


def _failed(kind: AnswerKind, words: str, key: str) -> Answer:
    more = " It may have happened." if kind == "unknown" else ""
    said: dict[str, Json] = {"error": words}
    return Answer(kind=kind, detail=f"{words}.{more}", provider_ref=key, said=said)


def _unclear(why: str, key: str) -> Finding:
    said: dict[str, Json] = {"error": why}
    return Finding(kind="can't tell", detail=why, provider_ref=key, said=said)


def _cause(error: Exception) -> str:
    return _line(f"{type(error).__name__}: {error}").rstrip(": .")


def _line(text: str) -> str:
    """One bounded line without hidden characters."""
    return " ".join(make_visible(text[:_WORDS_LIMIT]).split())
