"""What Placet leans on in Prefect; a test here fails when Prefect changes it.

The flows run in one process of their own (`python -m` this module), side by side; each
test then does to its own run what a person, a channel or an accident would do.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import httpx
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import Abort, FlowPauseTimeout
from prefect.flow_engine import run_flow_async
from prefect.flow_runs import apause_flow_run, asuspend_flow_run
from prefect.input import RunInput
from prefect.states import Running
from pydantic import Field

from channels.local_server import LocalServer
from tests.acceptance.prefect_ui import UIS, UiName

if TYPE_CHECKING:
    from playwright.sync_api import Page

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
PACKET = "# Reply to order 42\n\n````\n<b>as is</b> {{ 7 * 7 }}\n````\n"
KEY = "r1-1"
ANSWER = {"decision": "leave open", "reviewer": "ann"}


class Form(RunInput):
    decision: Literal["approve v2 a1b2c3d4", "leave open"] = Field(title="1. Reply")
    reviewer: str = Field(title="Reviewer")
    # Shown by the page, not assumed by the flow: a cleared text is not sent at all.
    subject: str | None = Field(
        None,
        title="Subject",
        json_schema_extra={"type": "string", "default": "Re: order 42"},
    )


Form._description = PACKET  # type: ignore[assignment]


@flow
async def ask(key: str = KEY) -> Form:
    return await apause_flow_run(Form, timeout=600, poll_interval=0.1, key=key)  # type: ignore[arg-type]


@flow
async def superseded() -> None:
    raise Abort("A newer holder has taken over.")


@flow
async def suspend() -> Form | None:
    return await asuspend_flow_run(Form, timeout=600, key=f"{KEY}-cold")


@flow
async def suspend_below() -> Form | None:
    return await suspend()


@flow
async def hand_over() -> Form | None:
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None
    if context.flow_run.run_count == 1:
        with pytest.raises(FlowPauseTimeout):
            await apause_flow_run(Form, timeout=1, poll_interval=0.1, key=KEY)  # type: ignore[arg-type]
        async with get_client() as client:
            await client.set_flow_run_state(context.flow_run.id, Running(), force=True)
    return await asuspend_flow_run(Form, timeout=600, key=f"{KEY}-cold")
