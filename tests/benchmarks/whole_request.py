"""A whole request, measured over a bare Prefect flow of the same shape.

Both run in one process of their own against the same local server: nine tasks, one
pause with a form, resumed by the same responder. Prints CPU and wall time per request
of the flow's process and of the server, and their ratios.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pyotp

from blocks.vault import Vault, new_key
from channels.local_server import LocalServer
from tests.smtp_server import RecordingServer

REQUESTS = int(os.environ.get("REQUESTS", "8"))
KEY = new_key()
ADDRESS = "ada@customer.example"

BARE = """
import asyncio, json, resource, sys, time
from typing import Literal
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.flow_runs import apause_flow_run
from prefect.input import RunInput

class Form(RunInput):
    verdict: Literal["approve", "reject", "leave open"]
    subject: str = "Re: x"
    body: str = "Dear Ada,"
    reason: str = ""
    reviewer: str
    code: str

def step(n):
    @task(name=f"step-{n}", cache_policy=NO_CACHE, persist_result=False)
    def one(x): return x
    return one
STEPS = [step(n) for n in range(9)]

@flow(name="bare", persist_result=False)
async def bare(n):
    for s in STEPS[:6]: s(n)
    await apause_flow_run(wait_for_input=Form, timeout=120, poll_interval=0.1, key="r1")
    for s in STEPS[6:]: s(n)
    return n
"""

PLACET = """
import asyncio, json, resource, sys, time
from flows.handle_request import handle_request

async def bare(n):
    request = {"ticket_id": "T1", "requested_by": "bot"}
    await handle_request("support_email", request, f"r{n}", return_state=True)
"""

MEASURE = """
async def main():
    await bare(-1)
    for n in range(int(sys.argv[1])):
        c, t = time.process_time(), time.perf_counter()
        await bare(n)
        spent = [time.process_time() - c, time.perf_counter() - t]
        print(json.dumps(spent), flush=True)
asyncio.run(main())
"""


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    code: str,
    env: dict[str, str],
    api: str,
    answer: Callable[[dict[str, Any], int], dict[str, Any]],
    server_pid: int,
) -> dict[str, float]:
    """Run the flows and answer their forms; medians per request."""
    child = subprocess.Popen(
        [sys.executable, "-c", code + MEASURE, str(REQUESTS)],
        env={**os.environ, **env, "PREFECT_LOGGING_LEVEL": "ERROR"},
        stdout=subprocess.PIPE,
        text=True,
    )
    answered: set[str] = set()
    client = httpx.Client(base_url=api, timeout=30)
    wanted = {"flow_runs": {"state": {"type": {"any_": ["PAUSED"]}}}}
    server_before = 0.0
    while child.poll() is None and len(answered) < REQUESTS + 1:
        for run in client.post("/flow_runs/filter", json=wanted).json():
            key = run["state"]["state_details"]["pause_key"]
            schema = client.get(f"/flow_runs/{run['id']}/input/paused-{key}-schema")
            if run["id"] in answered or schema.status_code != 200:
                continue
            if len(answered) == 1:
                server_before = cpu_of(server_pid)
            body = {"run_input": answer(schema.json(), len(answered))}
            said = client.post(f"/flow_runs/{run['id']}/resume", json=body).json()
            if said.get("status") == "ACCEPT":
                answered.add(run["id"])
        time.sleep(0.02)
    out, _ = child.communicate(timeout=120)
    server = (cpu_of(server_pid) - server_before) / (REQUESTS - 1)
    rows = sorted(json.loads(line) for line in out.splitlines())
    walls = sorted(row[1] for row in rows)
    middle = len(rows) // 2
    return {"cpu": rows[middle][0], "wall": walls[middle], "server_cpu": server}


def bare_answer(schema: dict[str, Any], number: int) -> dict[str, Any]:
    """The bare form's answer."""
    return {"verdict": "approve", "reviewer": "ada", "code": "123456"}


def main() -> None:
    """Measure both, twice over, and print the ratios."""
    with tempfile.TemporaryDirectory() as folder, RecordingServer() as smtp:
        home = Path(folder)
        env, seeds = prepare(home, smtp.port)
        with LocalServer(home / "prefect") as server:
            env["PREFECT_API_URL"] = server.api_url
            pid = json.loads((home / "prefect" / "server.json").read_text())["pid"]

            def approve(schema: dict[str, Any], number: int) -> dict[str, Any]:
                name = next(n for n in schema["properties"] if n.startswith("verdict"))
                choice = schema["properties"][name]["enum"][0]
                code = pyotp.TOTP(seeds[number]).now()
                return {name: choice, "reviewer": f"r{number}", "code": code}

            ours = measure(PLACET, env, server.api_url, approve, pid)
            bare = measure(BARE, env, server.api_url, bare_answer, pid)
        for name in bare:
            ratio = ours[name] / bare[name]
            print(
                f"{name:10} placet {ours[name]:.3f} s  bare {bare[name]:.3f} s  "
                f"ratio {ratio:.2f}"
            )


def prepare(home: Path, smtp_port: int) -> tuple[dict[str, str], list[str]]:
    """A ledger with as many reviewers as requests: a code works once."""
    from blocks.ledger import people, schema
    from blocks.ledger.database import open_ledger
    from tasks.domains import DOMAINS

    url = f"sqlite:///{home / 'placet.db'}"
    ledger = open_ledger(url)
    schema.upgrade(ledger)
    seeds = []
    records: Any = {
        "customers": [{"id": "C1", "name": "Ada", "email": ADDRESS}],
        "tickets": [
            {
                "id": "T1",
                "customer": "C1",
                "sender": ADDRESS,
                "subject": "Order",
                "message": "Where is my order 12345678?",
            }
        ],
    }
    with ledger.write() as tx:
        DOMAINS["support_email"].store.load_records(tx, records)
        for number in range(REQUESTS + 1):
            _, made = people.add(
                tx,
                Vault(KEY),
                reviewer=f"r{number}",
                tenant="main",
                role="reviewer",
                permissions=("support_email.send",),
                actor="benchmark",
            )
            seeds.append(made.seed)
    env = {
        "PLACET_HOME": str(home),
        "PLACET_DATABASE_URL": url,
        "PLACET_SECRET_KEY": KEY,
        "PLACET_POLL_SECONDS": "0.1",
        "PLACET_MAIL__HOST": "127.0.0.1",
        "PLACET_MAIL__PORT": str(smtp_port),
        "PLACET_MAIL__SECURITY": "none",
        "PLACET_MAIL__SENDER": "support@placet.example",
        "PLACET_MAIL__MESSAGE_ID_DOMAIN": "placet.example",
    }
    return env, seeds


if __name__ == "__main__":
    main()
