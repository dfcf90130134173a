"""What a chaos run tells at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.chaos.checks import Check
from tests.chaos.run import Run


def told(run: Run, checks: list[Check]) -> str:
    """Requests, decisions, deaths, effects, and the verdict of each check."""
    lines = [*_figures(run), "", *_verdicts(checks)]
    if any(check.broken for check in checks):
        plan, folder = run.plan, run.parts.installation.folder
        again = f"N={len(plan.stories)} SEED={plan.seed} DB={plan.database}"
        lines += [
            "",
            f"Trails of what broke, and the processes' logs: {folder}",
            f"The same plan again: make chaos {again}",
        ]
    return "\n".join(lines)


def keep_trails(run: Run, checks: list[Check]) -> None:
    """Write the trail of every request that broke a promise beside the logs."""
    words = "\n".join(what for check in checks for what in check.broken)
    installation = run.parts.installation
    for case in run.cases:
        if case.workflow in words:
            said = installation.command("audit", "show", case.workflow, "--json")
            file = installation.folder / f"{case.workflow}.trail.json"
            file.write_text(said.out or said.err)


def _figures(run: Run) -> Iterator[str]:
    plan, parts, cases = run.plan, run.parts, run.cases
    yield f"chaos on {plan.database}, seed {plan.seed}, {run.seconds:.0f} s"
    yield _row("requests", {"submitted": len(cases), **_states(run)})
    clicks = Counter(
        f"{click.word} by {'form' if click.at_form else 'command'}"
        for case in cases
        for click in case.clicks
    )
    clicks["edit by command"] = run.acts["edit"]
    clicks["clicked twice"] = sum(case.doubled for case in cases)
    clicks["stale"] = sum(len(case.stale) for case in cases)
    yield _row("decisions", clicks)
    yield _row("killed", parts.died)
    yield _row("by people", {name: run.acts[name] for name in ("resume", "resolve")})
    yield _row("mail server", parts.mail.met)
    yield _row("effects", {"mails": len(parts.mail.received)})


def _states(run: Run) -> Counter[str]:
    found: Counter[str] = Counter()
    for case in run.cases:
        session = case.session()
        found[session.status if session else "never begun"] += 1
    return found


def _row(name: str, counts: Mapping[Any, int]) -> str:
    told = ", ".join(f"{what} {n}" for what, n in sorted(counts.items()) if n)
    return f"{name:12} {told or 'none'}"


def _verdicts(checks: list[Check]) -> Iterator[str]:
    for check in checks:
        yield f"{'FAILED' if check.broken else 'ok':7} {check.promise}"
        yield from (f"        {what}" for what in check.broken)
