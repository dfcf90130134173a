"""A command that was misused: which argument, and how the command is called."""

from collections.abc import Iterator
from inspect import Parameter
from typing import Any

from cyclopts import App, CycloptsError, MissingArgumentError, UnusedCliTokensError

from policies.errors import InvalidInput


def misused(app: App, error: CycloptsError) -> InvalidInput:
    """The error for people; its hint is the command's usage, or where help is."""
    chain = tuple(error.command_chain or ())
    words = " ".join(("placet", *chain))
    usage = f"Usage: {words} {' '.join(usage_of(app, chain))}. " if chain else ""
    return InvalidInput(
        _what(words, error), code="usage", hint=f"{usage}`{words} --help` tells more."
    )


def usage_of(app: App, chain: tuple[str, ...]) -> Iterator[str]:
    """How each argument of a command is written, the required ones first."""
    command = app
    for word in chain:
        command = command[word]
    if command.default_command is None:
        yield "COMMAND"
        return
    arguments = list(command.assemble_argument_collection())
    for argument in sorted(arguments, key=lambda one: not one.required):
        shown = _written(argument)
        yield shown if argument.required else f"[{shown}]"


def _what(words: str, error: CycloptsError) -> str:
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return f"`{words}` needs {_written(error.argument)}."
    if isinstance(error, UnusedCliTokensError):
        extra = " ".join(error.unused_tokens or ())
        return f"`{words}` has no use for {extra!r}."
    said = " ".join(str(error).split())
    return said if said.endswith((".", "?", "!")) else f"{said}."


def _written(argument: Any) -> str:
    name = str(argument.field_info.name)
    if argument.field_info.kind is not Parameter.KEYWORD_ONLY:
        return name.upper()
    if argument.is_flag():
        return str(argument.name)
    return f"{argument.name} {name.upper()}"
