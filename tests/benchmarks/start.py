"""How long a command takes to be there, imports included.

`placet --help`, beside its bound of 0.5 s; and `placet submit --local` to its pause,
as a ratio to a bare async flow with as many tasks (bound 1.3), against one server.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from channels.local_server import LocalServer
from tests.benchmarks.whole_request import BARE, prepare
from tests.smtp_server import RecordingServer

ROUNDS = int(os.environ.get("ROUNDS", "5"))
PLACET = Path(sys.executable).with_name("placet")
RUN_BARE = BARE + "\nasyncio.run(bare(0))\n"
PAUSED = {"flow_runs": {"state": {"type": {"any_": ["PAUSED"]}}}}


def best(measure: Callable[[], float]) -> float:
    """The best of some rounds: what else the machine does only adds."""
    return min(measure() for _ in range(ROUNDS))


def help_seconds() -> float:
    """`placet --help`, from start to end."""
    start = time.perf_counter()
    subprocess.run([PLACET, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def seconds_to_pause(command: list[str], env: dict[str, str], api: str) -> float:
    """From the start of a process to the moment at which its run is Paused."""
    with httpx.Client(base_url=api, timeout=30) as client:
        before = len(client.post("/flow_runs/filter", json=PAUSED).json())
        start = time.perf_counter()
        child = subprocess.Popen(
            command,
            env={**os.environ, **env, "PREFECT_LOGGING_LEVEL": "ERROR"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while len(client.post("/flow_runs/filter", json=PAUSED).json()) == before:
                assert child.poll() is None, "the process ended before its pause"
                time.sleep(0.02)
            return time.perf_counter() - start
        finally:
            child.kill()
            child.wait()


def main() -> None:
    """Print the figures."""
    answered = best(help_seconds)
    print(
        f"placet --help            {answered:.2f} s   "
        f"ratio to 0.5 s: {answered / 0.5:.2f}"
    )
    with tempfile.TemporaryDirectory() as folder, RecordingServer() as smtp:
        home = Path(folder)
        env, _ = prepare(home, smtp.port)
        request = home / "request.json"
        request.write_text(json.dumps({"ticket_id": "T1", "requested_by": "bot"}))
        with LocalServer(home / "prefect") as server:
            env["PREFECT_API_URL"] = server.api_url
            submit = [str(PLACET), "submit", "support_email", str(request), "--local"]
            bare = [sys.executable, "-c", RUN_BARE]
            ours = best(lambda: seconds_to_pause(submit, env, server.api_url))
            theirs = best(lambda: seconds_to_pause(bare, env, server.api_url))
    print(
        f"submit --local to pause  {ours:.2f} s   bare flow {theirs:.2f} s   "
        f"ratio {ours / theirs:.2f} (bound 1.3)"
    )


if __name__ == "__main__":
    main()
