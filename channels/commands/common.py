"""What several subcommands share: their options, and reading files."""

import getpass
import os
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from blocks.ledger import people
from blocks.settings import unknown_names
from channels import output
from channels.refusals import token_proof, turned_away
from channels.service import Service
from policies import canonical
from policies.access import Denied
from policies.errors import InvalidInput, Refused
from policies.value import Json
from tasks.services import load_services

JsonFlag: TypeAlias = Annotated[
    bool, Parameter(name="--json", negative="", help="One JSON document on stdout.")
]
Admin: TypeAlias = Annotated[
    str | None,
    Parameter(name="--as", help="The admin who does this; token in PLACET_TOKEN."),
]
As: TypeAlias = Annotated[
    str, Parameter(name="--as", help="Your reviewer id; your token is PLACET_TOKEN.")
]


def service() -> Service:
    """The service of this process."""
    warn_of_unknown_settings()
    return Service(load_services())


def warn_of_unknown_settings() -> None:
    """Name each setting that is none: by a slip, another one is not set."""
    for name, near in unknown_names():
        meant = f"; {near} is" if near else ""
        output.warn(f"placet: {name} is no setting and has no effect{meant}.")


def token() -> people.Proof:
    """The proof of whoever runs this command."""
    return token_proof(os.environ.get("PLACET_TOKEN"))


def actor(serving: Service, admin: str | None) -> str:
    """Who administers: an admin by token, or whoever has this machine's shell.

    A shell that reaches the ledger and its secret key can do anything anyway; the
    record says so by its prefix.
    """
    if admin is None:
        return f"shell:{_account()}"
    services = serving.services
    with services.ledger.write() as tx:
        who = people.prove(tx, services.vault, admin, token())
    if isinstance(who, Denied):
        raise turned_away(admin, who)
    if not who.admin:
        raise Refused(f"{admin} is not an admin.", code="missing_permission")
    return who.id


def _account() -> str:
    """The shell's account; a container's may have a number and no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def read_json_file(path: Path) -> Json:
    """A file's strict JSON; the message names the file and the place."""
    try:
        with path.open("rb") as file:
            data = file.read(canonical.MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror}.", code="unreadable_file"
        ) from error
    try:
        return canonical.read_json(data)
    except InvalidInput as error:
        raise InvalidInput(
            f"{path}: {error.message}", code=error.code, hint=error.hint
        ) from error
