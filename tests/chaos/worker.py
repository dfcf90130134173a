"""A worker of a process pool that dies and comes back, and the runs that it starts."""

from __future__ import annotations

import signal
from contextlib import suppress

from blocks.ledger.sessions import workflow_id
from policies.errors import PlacetError
from tests.acceptance.deployment import POOL
from tests.acceptance.installation import Installation
from tests.acceptance.processes import Process, running_with, send

_SETTINGS = {
    "PREFECT_WORKER_QUERY_SECONDS": "1",
    # A worker reports a killed process twice, seconds apart; the second report undoes
    # what was done meanwhile, so the lease must outlast it.
    "PLACET_LEASE_SECONDS": "15",
    "PLACET_HOT_PAUSE_SECONDS": "3",
}


class Worker:
    """`prefect worker start`; `requests` are those that it was given."""

    def __init__(self, installation: Installation) -> None:
        self.requests: list[str] = []
        self._installation = installation
        self._process = self._start()

    def kill(self) -> None:
        """kill -9 of the worker alone: what it has started goes on."""
        self._process.kill()

    def tend(self) -> None:
        """Start it again if it is dead, be it by itself: Prefect may have been gone."""
        if self._process.has_ended():
            self._process = self._start()

    def kill_flow(self) -> bool:
        """kill -9 of a process that it started and that holds a request, if any."""
        alive = running_with(f"PLACET_HOME={self._installation.folder}")
        for request in self.requests:
            with suppress(PlacetError, ProcessLookupError):
                pid = self._installation.holder(workflow_id(request))
                if pid in alive:
                    send(pid, signal.SIGKILL)
                    return True
        return False

    def _start(self) -> Process:
        words = ("worker", "start", "--pool", POOL)
        return self._installation.start_module(
            "prefect", *words, name="worker", **_SETTINGS
        )
