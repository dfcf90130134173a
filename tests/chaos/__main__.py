"""`python -m tests.chaos --requests N --seed S --database sqlite|postgresql`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from tests.chaos.checks import all_checks
from tests.chaos.house import all_parts
from tests.chaos.plan import Plan, make_plan
from tests.chaos.report import keep_trails, told
from tests.chaos.run import Run


def main() -> int:
    """Run once; 1 if a promise was broken. What went wrong keeps its folder."""
    plan = _plan()
    folder = Path(tempfile.mkdtemp(prefix="placet-chaos-"))
    print(f"chaos on {plan.database}, seed {plan.seed}: {folder}", flush=True)
    with all_parts(plan, folder, folder / "prefect") as parts:
        run = Run(plan, parts)
        run.to_its_end()
        checks = all_checks(run)
        print(told(run, checks))
        keep_trails(run, checks)
    if any(check.broken for check in checks):
        return 1
    shutil.rmtree(folder)
    return 0


def _plan() -> Plan:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--seed", type=int, help="the plan's; any, if none is given")
    parser.add_argument(
        "--database", choices=("sqlite", "postgresql"), default="sqlite"
    )
    given = parser.parse_args()
    seed = SystemRandom().randrange(10**6) if given.seed is None else given.seed
    return make_plan(given.requests, seed, given.database)


if __name__ == "__main__":
    sys.exit(main())
