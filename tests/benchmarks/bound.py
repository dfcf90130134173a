"""The bound: the statements of an effect without Placet, by pgbench and by sqlite3."""

import resource
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psycopg

from tests.benchmarks import statements
from tests.benchmarks.effects_under_way import Ready, Spent
from tests.benchmarks.postgres_server import Server
from tests.benchmarks.statements import Effect

CLIENTS = 4
# pgbench counts, it joins no texts: rows are named by numbers as long as our ids are.
_WIDE = 10**15
PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "recursive_triggers = ON",
)
_TEXTS = """
SELECT c.table_name, c.column_name FROM information_schema.columns c
JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
AND c.data_type IN ('text', 'character varying')
"""


def rename_rows(url: str, ready: Sequence[Ready]) -> None:
    """Give the requests of a database the names that pgbench's variables have."""
    rows = [
        (name, str((kind + 1) * _WIDE + number))
        for number, one in enumerate(ready)
        for kind, name in enumerate(one.names)
    ]
    with psycopg.connect(url) as connection:
        # Without triggers and foreign keys: rows that are append-only are renamed.
        connection.execute("SET session_replication_role = replica")
        connection.execute("CREATE TEMP TABLE names (old text PRIMARY KEY, new text)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO names VALUES (%s, %s)", rows)
        for table, column in connection.execute(_TEXTS).fetchall():
            connection.execute(
                f'UPDATE "{table}" SET "{column}" = names.new FROM names'
                f' WHERE "{column}" = names.old'.encode()
            )


def by_pgbench(server: Server, url: str, effect: Effect, number: int) -> Spent:
    """So many effects (a multiple of the clients) by four clients, prepared."""
    each = number // CLIENTS
    named = (*effect.of.names, *effect.made)
    names = {name: f"k{kind}" for kind, name in enumerate(named)}
    script, constants = statements.for_pgbench(effect, names)
    head = [r"\set i :i + 1", rf"\set n :client_id * {each} + :i"]
    head += [rf"\set k{kind} {(kind + 1) * _WIDE} + :n" for kind in range(len(named))]
    before = server.cpu(), _children_cpu()
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write("\n".join((*head, script)))
        file.flush()
        told = _pgbench(server, url, each, file.name, {"i": "-1", **constants})
    spent = server.cpu() - before[0] + _children_cpu() - before[1]
    return Spent(each * CLIENTS, each * CLIENTS / _per_second(told), spent)


def by_hand(path: Path, effect: Effect, ready: Sequence[Ready]) -> Spent:
    """An effect for each of the requests, through the sqlite3 module."""
    prepared = statements.for_sqlite(effect, ready)
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=500)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    began, before = time.perf_counter(), time.process_time()
    for steps in prepared:
        for sql, values in steps:
            connection.execute(sql, values).fetchall()
    spent = time.process_time() - before, time.perf_counter() - began
    connection.close()
    return Spent(len(ready), spent[1], spent[0])


def _pgbench(
    server: Server, url: str, each: int, script: str, given: dict[str, str]
) -> str:
    command = [str(server.binaries / "pgbench"), "--no-vacuum", "--protocol=prepared"]
    command += [f"--client={CLIENTS}", "--jobs=2", f"--transactions={each}"]
    command += [f"--file={script}"]
    command += [f"--define={name}={value}" for name, value in given.items()]
    done = subprocess.run([*command, url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _per_second(told: str) -> float:
    line = next(line for line in told.splitlines() if line.startswith("tps = "))
    return float(line.split()[2])


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
