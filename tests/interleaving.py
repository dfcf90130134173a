"""Every order in which the steps of several workers can come, one run for each.

A worker is a thread that stands still before each of its steps: before every
transaction that writes, and wherever it calls `point`. What it reads for a step is read
when the step before is over, so that others come between a look and its write.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Semaphore, Thread, local
from typing import TypeAlias

from blocks.ledger.database import Ledger, Transaction
from policies.errors import PlacetError

Order: TypeAlias = tuple[int, ...]
_here = local()


class Worker:
    """One thread, step by step; an error of the product's own ends it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.is_over = False
        self.error: BaseException | None = None
        self._turn, self._stands = Semaphore(0), Semaphore(0)
        self._thread = Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()
        self._stands.acquire()

    def step(self) -> None:
        """Let it come as far as its next step, or to its end."""
        self._turn.release()
        self._stands.acquire()
        if self.error is not None:
            raise self.error

    def stand(self) -> None:
        """Called by the thread itself: wait for the turn."""
        self._stands.release()
        self._turn.acquire()

    def _run(self, work: Callable[[], object]) -> None:
        _here.worker = self
        try:
            work()
        except PlacetError:
            pass
        except BaseException as error:
            self.error = error
        self.is_over = True
        self._stands.release()


class SteppedLedger(Ledger):
    """A ledger in which each transaction that writes is a step of its worker."""

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """As a ledger does, when it is the worker's turn."""
        point()
        with super().write() as tx:
            yield tx


def point() -> None:
    """What follows is a step of its own, if a worker does it."""
    worker: Worker | None = getattr(_here, "worker", None)
    if worker is not None:
        worker.stand()


def orders(begin: Callable[[], Sequence[Worker]]) -> Iterator[Order]:
    """Run every order there is; `begin` starts the workers anew for each one."""
    ahead: list[Order] = [()]
    while ahead:
        given = ahead.pop()
        workers, taken = begin(), list[int]()
        while alive := [n for n, worker in enumerate(workers) if not worker.is_over]:
            if len(taken) < len(given):
                chosen = given[len(taken)]
            else:
                chosen = alive[0]
                ahead += [(*taken, other) for other in alive[1:]]
            workers[chosen].step()
            taken.append(chosen)
        yield tuple(taken)
