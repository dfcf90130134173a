"""`placet reviewers` and `placet keys`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from blocks.ledger import people as ledger_people
from blocks.vault import Vault, new_key
from channels import output
from channels.commands.common import Admin, JsonFlag, actor, service
from policies.access import Reviewer
from policies.errors import InvalidInput
from policies.policy import Role


def add(
    reviewer: str,
    *,
    role: Role,
    tenant: str,
    permission: Annotated[
        list[str] | None,
        Parameter(
            help="What they may decide; may be given several times.", negative=""
        ),
    ] = None,
    admin: Admin = None,
    json: JsonFlag = False,
) -> None:
    """Add a reviewer. Token and one-time-code seed are printed once, here.

    Parameters
    ----------
    reviewer
        An id of letters, digits, hyphens and dots.
    role
        Who may decide at which risk depends on it; admin and auditor decide nothing.
    tenant
        Whose items they see.
    """
    serving = service()
    by = actor(serving, admin)
    who, made = serving.add_reviewer(
        reviewer, role, tenant, tuple(permission or ()), by
    )
    _tell_secrets(who, made, json)


def everybody(*, json: JsonFlag = False) -> None:
    """List the reviewers."""
    with service().services.ledger.read() as tx:
        people = ledger_people.everybody(tx)
    if json:
        output.document({"reviewers": people})
        return
    for who in people:
        role = who.role + (" and admin" if who.admin else "")
        rights = f"May decide: {', '.join(who.permissions) or 'nothing'}"
        state = "revoked" if who.revoked else "active"
        output.entry(who.id, role, f"tenant {who.tenant}", state, details=[rights])


def rotate(reviewer: str, *, admin: Admin = None, json: JsonFlag = False) -> None:
    """Give a reviewer a new token and seed, after a lost phone say.

    Parameters
    ----------
    reviewer
        The reviewer's id.
    """
    serving = service()
    by = actor(serving, admin)
    with serving.services.ledger.write() as tx:
        vault = serving.services.vault
        made = ledger_people.rotate(tx, vault, reviewer=reviewer, actor=by)
        who = ledger_people.load(tx, reviewer)
    _tell_secrets(who, made, json)


def revoke(reviewer: str, *, admin: Admin = None, json: JsonFlag = False) -> None:
    """Take away a reviewer's rights at once; their verdicts stay on record.

    Parameters
    ----------
    reviewer
        The reviewer's id.
    """
    serving = service()
    by = actor(serving, admin)
    with serving.services.ledger.write() as tx:
        ledger_people.revoke(tx, reviewer=reviewer, actor=by)
    if json:
        output.document({"reviewer": reviewer, "revoked": True})
    else:
        output.say(f"{reviewer} may decide nothing any more.")


def rotate_keys(*, admin: Admin = None, json: JsonFlag = False) -> None:
    """Encrypt every seed with a new secret key, which is printed once."""
    serving = service()
    settings = serving.services.settings
    if settings.secret_key is None:
        raise InvalidInput(
            "PLACET_SECRET_KEY is not set.",
            code="no_secret_key",
            hint="Set it to the key that the seeds are encrypted with now: the one "
            "that was set when reviewers were added.",
        )
    by = actor(serving, admin)
    key = new_key()
    with serving.services.ledger.write() as tx:
        old = serving.services.vault
        count = ledger_people.re_encrypt(tx, old, Vault(key), by)
        # Told before it is kept: a key that nobody saw would be lost with all seeds.
        _tell_key(key, count, json)


def _tell_key(key: str, count: int, json: bool) -> None:
    if json:
        output.document({"secret_key": key, "seeds": count})
    else:
        output.say(f"{count} seeds are encrypted with the new key. Set it now, in the")
        output.say("environment of every process of this installation, and keep it:")
        output.command(f"export PLACET_SECRET_KEY={key}")
    sys.stdout.flush()


def _tell_secrets(who: Reviewer, made: ledger_people.Secrets, json: bool) -> None:
    if json:
        output.document({"reviewer": who, **made.model_dump()})
        return
    role = who.role + (" and admin" if who.admin else "")
    output.say(f"{who.id} is a reviewer of tenant {who.tenant} ({role}).")
    output.say("Keep these now; they are not shown again:")
    output.say(f"  token  {made.token}")
    output.say(f"  seed   {made.seed}")
    output.say(f"  for an authenticator: {made.uri}")
    output.say(f"To decide as {who.id} in a shell:")
    output.command(f"export PLACET_TOKEN={made.token}")
