"""A flow process that carries many requests: `python -m` this module.

Each line of its input is `{"carry": ID, "request": {…}}` or `{"die": N}`. Each line of
its output says how the carrying of a request has ended. It ends with its input.
"""

import asyncio
import json
import sys
from typing import Any

from prefect.exceptions import PrefectSignal

from flows.handle_request import handle_request
from tests.chaos.dying import die_before_statement


async def carry(request_id: str, request: dict[str, Any]) -> None:
    """One request as far as it goes, as one flow run."""
    try:
        ended = await handle_request(
            "support_email", request, request_id, return_state=True
        )
        how = f"{ended.name}: {ended.message}"
    except (Exception, PrefectSignal) as error:
        how = f"{type(error).__name__}: {error}"
    print(json.dumps({"ended": request_id, "how": how}), flush=True)


async def carry_what_is_asked() -> None:
    """Read what is asked and do it, side by side."""
    tasks = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        match json.loads(line):
            case {"carry": str(request_id), "request": dict(request)}:
                tasks.append(asyncio.create_task(carry(request_id, request)))
            case {"die": int(number)}:
                die_before_statement(number)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(carry_what_is_asked())
