"""A model server for tests: real HTTP, both protocols, and every kind of misconduct."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue, SecretStr

from blocks.endpoint import Endpoint
from policies.provenance import Sampling

Provider = Literal["openai", "anthropic"]
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")
KEY = "sk-only-for-tests-3141592653"
MODEL = "model-under-test"


class Call(NamedTuple):
    """A tool call in an answer; arguments as text are sent as they are."""

    name: str
    arguments: JsonValue


class Seen(NamedTuple):
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ModelServer:
    """Answers every request as it was last told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.sent: list[bytes] = []
        self._reply: Callable[[BaseHTTPRequestHandler], None] = self._silence
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        # So that closing waits for every request, the hanging ones included.
        self._http.daemon_threads = False

    def endpoint(self, provider: Provider, **changes: Any) -> Endpoint:
        """How this server is reached."""
        settings: dict[str, Any] = {
            "provider": provider,
            "base_url": self.url(provider),
            "model": MODEL,
            "api_key": SecretStr(KEY),
            "sampling": Sampling(temperature=0.2, top_p=0.9, max_tokens=500, seed=7),
            "timeout_seconds": 20,
        }
        return Endpoint(**{**settings, **changes})

    def url(self, provider: Provider) -> str:
        """The base URL that the provider's protocol has here."""
        path = "/v1" if provider == "openai" else ""
        return f"http://127.0.0.1:{self._http.server_port}{path}"

    def answer(self, arguments: JsonValue, finish: str | None = None) -> None:
        """Answer with a call of the tool that was offered."""
        self.call(Call("answer", arguments), finish=finish)

    def call(self, *calls: Call, finish: str | None = None) -> None:
        """Answer with these tool calls."""
        self._respond(lambda path: _dumped(_wrapped(path, calls, "", finish)))

    def say(self, text: str) -> None:
        """Answer in plain text, as servers do that know no tools."""
        self._respond(lambda path: _dumped(_wrapped(path, (), text, None)))

    def send(self, body: bytes) -> None:
        """Answer 200 with this body."""
        self._respond(lambda path: body)

    def refuse(self, status: int) -> None:
        """Answer with an error that quotes the key, as some servers do."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            quoted = f"Not with {handler.headers['Authorization']}"
            self._write(handler, status, _dumped({"error": {"message": quoted}}))

        self._reply = reply

    def cut_off(self) -> None:
        """Promise a body and end the connection in the middle of it."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            self._write(handler, 200, b'{"id": "half an ans', promised=5000)

        self._reply = reply

    def hang(self) -> None:
        """Take the request and never answer."""
        self._reply = self._silence

    def received(self, request: Seen) -> tuple[str, str]:
        """System text and user text of a request, read without any code of ours."""
        messages = request.body["messages"]
        if "system" in request.body:
            return request.body["system"], messages[0]["content"][0]["text"]
        return messages[0]["content"], messages[1]["content"]

    def serve(self) -> None:
        """Handle one request after the other until closed."""
        self._http.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        """Let go of what hangs, and stop."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Remember a request and reply as told."""
        length = int(handler.headers["Content-Length"])
        body = json.loads(handler.rfile.read(length))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.seen.append(Seen(handler.path, headers, body))
        self._reply(handler)

    def _silence(self, handler: BaseHTTPRequestHandler) -> None:
        self._closing.wait()

    def _respond(self, body: Callable[[str], bytes]) -> None:
        self._reply = lambda handler: self._write(handler, 200, body(handler.path))

    def _write(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        promised: int | None = None,
    ) -> None:
        self.sent.append(body)
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(promised or len(body)))
        handler.end_headers()
        handler.wfile.write(body)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A server that runs meanwhile."""
    server = ModelServer()
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.handle(self)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _dumped(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def _wrapped(
    path: str, calls: tuple[Call, ...], text: str, finish: str | None
) -> dict[str, Any]:
    if path.endswith("/chat/completions"):
        return _chat_completion(calls, text, finish)
    assert path.endswith("/messages"), path
    return _message(calls, text, finish)


def _chat_completion(
    calls: tuple[Call, ...], text: str, finish: str | None
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": _as_text(call.arguments)},
            }
            for number, call in enumerate(calls)
        ]
    reason = finish or ("tool_calls" if calls else "stop")
    return {
        "id": "chatcmpl-27",
        "object": "chat.completion",
        "created": 1750000000,
        "model": f"{MODEL}-2026-01-31",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 31, "completion_tokens": 12, "total_tokens": 43},
    }


def _as_text(arguments: JsonValue) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _message(calls: tuple[Call, ...], text: str, finish: str | None) -> dict[str, Any]:
    said: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    uses = [
        {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": call.name,
            "input": call.arguments,
        }
        for number, call in enumerate(calls)
    ]
    return {
        "id": "msg_27",
        "type": "message",
        "role": "assistant",
        "model": f"{MODEL}-20260131",
        "content": said + uses,
        "stop_reason": finish or ("tool_use" if calls else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": 31, "output_tokens": 12},
    }
