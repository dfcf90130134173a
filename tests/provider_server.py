"""A payment provider for tests that keeps its idempotency promise, over real sockets.

It is the package fastapi-idempotency in front of a ledger of effects: the same key and
bytes again are answered as before, and nothing happens a second time.
"""

import asyncio
import socket
from threading import Thread
from typing import NamedTuple

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from fastapi_idempotency import IdempotencyMiddleware
from starlette.types import Receive, Scope, Send


class Effect(NamedTuple):
    """Something that was done, and under which key."""

    key: str
    body: bytes


class HonestProvider:
    """Listens on a free port of 127.0.0.1; `effects` is what it has done.

    `status` is its next answers' to a payout; nothing is done for one above 399.
    """

    def __init__(self) -> None:
        self.forget()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            log_level="critical",
            ws="none",
            lifespan="off",
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._serve, daemon=True)

    def forget(self) -> None:
        """Begin anew: nothing done, no key known."""
        self.effects: list[Effect] = []
        self.status = 201
        self._app = _app(self)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def __enter__(self) -> "HonestProvider":
        # The socket listens already: whoever connects now is served when it runs.
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()


def _app(provider: HonestProvider) -> FastAPI:
    app = FastAPI()
    app.add_middleware(IdempotencyMiddleware)

    @app.post("/v1/payouts")
    async def pay_out(request: Request) -> Response:
        if provider.status >= 400:
            return JSONResponse({"error": "no"}, status_code=provider.status)
        key = request.headers["Idempotency-Key"]
        provider.effects.append(Effect(key, await request.body()))
        made = {"id": f"po_{len(provider.effects)}"}
        return JSONResponse(made, status_code=provider.status)

    @app.get("/operations/{key}")
    async def look_up(key: str) -> Response:
        for number, effect in enumerate(provider.effects, start=1):
            if effect.key == key:
                return JSONResponse({"id": f"po_{number}"})
        return JSONResponse({"error": "unknown"}, status_code=404)

    return app
