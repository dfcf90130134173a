"""A process that carries many requests at once: `python -m` this module.

Its standard input names them, one a line, as `[request id, request]`; a line with an
id alone lets that request go. It ends, whatever is open, when the input ends.
"""

import asyncio
import json
import sys
from typing import Any

from flows.handle_request import handle_request


async def carry(request_id: str, request: dict[str, Any]) -> None:
    """One request to its end, as one flow run."""
    ended = await handle_request(
        "support_email", request, request_id, return_state=True
    )
    print(f"{request_id} has ended: {ended.name}, {ended.message}", flush=True)


async def carry_what_is_asked() -> None:
    """Read the requests and carry them side by side."""
    carried: dict[str, asyncio.Task[None]] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        request_id, *request = json.loads(line)
        if request:
            carried[request_id] = asyncio.create_task(carry(request_id, *request))
        else:
            carried.pop(request_id).cancel()
    for left in carried.values():
        left.cancel()
    await asyncio.gather(*carried.values(), return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(carry_what_is_asked())
