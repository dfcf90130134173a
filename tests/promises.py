"""What the product promises, row by row, and the tests that show it.

A test names the rows it shows at the start of its docstring ("L3: …", "A1, A6: …").
`python -m tests.promises` writes docs/promises.md; a test keeps it true.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "promises.md"
_ROWS = re.compile(r"^([A-Z]\d{1,2}(?:, [A-Z]\d{1,2})*)\b(?! of the field)")

PROMISES: dict[str, str] = {
    "L1": "The loop runs decisions and knows nothing of the business.",
    "L2": "Every decision is recorded with its reasons before it is performed.",
    "L3": "Policy limits what may be done: after a failed check only the revising "
    "tool, an effect never without approval.",
    "L4": "It runs on rules alone; a workflow model only picks among permitted steps.",
    "L5": "No model writes a tool's final input, a version or an approval.",
    "L6": "The model that drafts and the one that steers are separate and configured "
    "apart.",
    "L7": "A tool is registered with its schema, permission, effect and fields; an "
    "effect tool called directly raises.",
    "L8": "Sessions survive kill -9, a server's restart and a wait of days.",
    "L9": "Six steps, each a Prefect task; review by a person or by policy, in one "
    "flow.",
    "L10": "A plan of several actions: only the approved ones run.",
    "L11": "The request's state survives the ledger with equal meaning.",
    "L12": "Every way in resumes the same way.",
    "I1": "Questions have a type, a target, options, and are required or not.",
    "I2": "An optional question lapses when its time is up; a required one never does.",
    "I3": "An answer that will not do is asked again with the reason; nothing fails.",
    "I4": "Approval, correction and selection are different acts; looking at a draft "
    "never lets it be sent.",
    "A1": "A payload is canonical (RFC 8785), immutable, with ref and version.",
    "A2": "What executing would mean is recomputed at verdict, resume, claim and send.",
    "A3": "A verdict is bound to a snapshot; any difference stops execution, with all "
    "reasons.",
    "A4": "An edit makes a new version, voids earlier verdicts and is asked again.",
    "A5": "Two clocks: one to decide, one to execute.",
    "A6": "What was seen is reproduced from artifacts alone, byte for byte.",
    "A7": "How a draft came about is kept whole; a replay calls nobody.",
    "A8": "A policy block, a failure and an unknown outcome are three things.",
    "A9": "More harm or less confidence never lowers a risk.",
    "X1": "One claim per scope and key, however many ask.",
    "X2": "A claim has a lease and a fencing token; whoever lost it sends and records "
    "nothing.",
    "X3": "An effect in our own tables: precondition, change and result in one "
    "transaction.",
    "X4": "An effect elsewhere: reservation and promise in one transaction; a version "
    "that has changed is approved again, a resource that is held is waited for.",
    "X5": "An unknown outcome is asked about, and tried again under the same key.",
    "X6": "A used key is never bound again, and its evidence stays readable.",
    "X7": "A recorded verdict and a sent form are taken up once, whatever died "
    "meanwhile.",
    "X8": "A process may die between any two steps: one effect, or a state that says "
    "what it needs.",
    "X9": "A freeze stops every effect in its scope at once.",
    "W1": "Approve, reject and edit in the Prefect UI, old and new.",
    "W4": "The command `placet`, every line.",
    "W5": "Deployments on a work pool, schedules, and blocks that the UI edits.",
    "R1": "The trail is append-only and chained; altering it is refused, or found.",
    "R2": "From a sent message back to ticket, model inputs, reviewer and version.",
}


@cache
def shown() -> dict[str, list[str]]:
    """The tests that name each row, by the row's id."""
    found: dict[str, list[str]] = {row: [] for row in PROMISES}
    for path in sorted(TESTS.rglob("test_*.py")):
        for test, rows in _tests(path):
            for row in rows:
                if row in found:
                    found[row].append(f"{path.relative_to(TESTS)}::{test}")
    return found


def page() -> str:
    """The text of docs/promises.md."""
    parts = [_HEAD]
    for row, tests in shown().items():
        parts.append(f"**{row}** {PROMISES[row]}\n")
        parts += [f"- `{test}`" for test in tests]
        parts.append("")
    return "\n".join(parts)


def _tests(path: Path) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            match = _ROWS.match(ast.get_docstring(node) or "")
            if match:
                yield node.name, re.findall(r"[A-Z]\d{1,2}", match[1])


_HEAD = """\
# Promises

Made from the tests by `make docs`; a test keeps the two equal. Each line below a
promise is a test in `tests/` that fails without it. Nothing is promised here of what is
not built: an HTTP API, a review page of Placet's own, escalation to somebody else. The
ways in are the Prefect form and the terminal; there is one domain.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
