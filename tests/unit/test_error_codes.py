"""The reference's tables of errors hold every code that is raised, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from blocks.ledger.judging import AT_THE_DESK
from policies.access import DenialCode
from policies.guard import ReasonCode

ROOT = Path(__file__).parents[2]
ROOMS = ("policies", "blocks", "tasks", "flows", "channels")
# These take a code as a plain argument.
TAKERS = ("_refusal", "_schema")
# What there is only once an item is approved.
NOT_AT_THE_DESK = {
    "not_approved",
    "approval_expired",
    "message_changed",
    "message_lost",
    "resource_reserved",
}
CODE = re.compile(r"[a-z]+(_[a-z]+)*")


def codes_in(source: str) -> Iterator[str]:
    """Each `code="…"`, each code given to a taker, each that a `…_code` returns."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.keyword(arg="code", value=ast.Constant(value=str(code))):
                yield code
            case ast.Call(func=ast.Name(id=name), args=args) if name in TAKERS:
                yield from _words(args)
            case ast.FunctionDef(name=name, body=body) if name.endswith("_code"):
                returns = [n for part in body for n in ast.walk(part)]
                yield from _words(n.value for n in returns if isinstance(n, ast.Return))


def default_codes() -> Iterator[str]:
    """The codes of the classes themselves."""
    source = (ROOT / "policies" / "errors.py").read_text("utf-8")
    yield from re.findall(r'^    code = "([a-z_]+)"', source, re.MULTILINE)


def codes_of_the_guard() -> set[str]:
    """What a verdict is refused with for a reason of the guard's."""
    reasons = set(get_args(ReasonCode)) - NOT_AT_THE_DESK
    return {AT_THE_DESK.get(reason, reason) for reason in reasons}


def documented() -> set[str]:
    """Every code in a row of a table whose first column is called `code`."""
    text = (ROOT / "docs" / "reference.md").read_text("utf-8")
    tables = re.findall(r"^\| code \|.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    first = [row.split("|")[1] for table in tables for row in table.splitlines()]
    return {code for cell in first for code in re.findall(r"`([a-z_]+)`", cell)}


def _words(nodes: Iterator[ast.expr | None] | list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and CODE.fullmatch(str(node.value)):
            yield str(node.value)


def test_the_reference_tells_every_code_that_is_raised_and_no_other() -> None:
    files = (path for room in ROOMS for path in ROOT.glob(f"{room}/**/*.py"))
    raised = {code for file in files for code in codes_in(file.read_text("utf-8"))}

    classes = {*default_codes(), *get_args(DenialCode)}
    assert raised | classes | codes_of_the_guard() == documented()
