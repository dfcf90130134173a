"""Reviewers and their proofs: a bearer token, or a one-time code that works once.

A code's use is written in the caller's transaction, together with the verdict that it
proves; so is a wrong code, which is why proofs answer with `Denied` and do not raise.
"""

import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from sqlalchemy import bindparam, func, insert, select, text, update

from blocks.ledger import audit
from blocks.ledger.database import Transaction
from blocks.ledger.tables import Credential, UsedCode
from blocks.ledger.tables import Reviewer as ReviewerTable
from blocks.vault import Vault
from policies.access import Denied, Reviewer
from policies.errors import Conflict, InvalidInput, NotFound
from policies.policy import Role
from policies.value import Value

# Actors of our own: a person of that name could not be told from them.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_RESERVED = frozenset({"policy", "system", "agent"})
STEP_SECONDS = 30
# One step before and after: phones' clocks are rarely exact.
_WINDOW = (0, -1, 1)
WRONG_CODES = 5
LOCKED_FOR = timedelta(minutes=15)

_EVERYBODY = (
    select(ReviewerTable, Credential.locked_until)
    .join(Credential, Credential.reviewer == ReviewerTable.id)
    .order_by(ReviewerTable.id)
)
_ONE = _EVERYBODY.where(ReviewerTable.id == bindparam("id"))


class TokenProof(Value):
    """A bearer token, as given once when the reviewer was added."""

    kind: Literal["token"] = "token"
    token: str


class CodeProof(Value):
    """A one-time code of the reviewer's authenticator.

    `submitted_at` is when it was typed, where it is read later: a form's answer lies in
    Prefect until a process comes for it, and a code is old after half a minute.
    """

    kind: Literal["code"] = "code"
    code: str
    submitted_at: datetime | None = None


Proof: TypeAlias = TokenProof | CodeProof


class Secrets(Value):
    """What a reviewer is told once and nobody can read again."""

    token: str
    seed: str
    uri: str


def add(
    tx: Transaction,
    vault: Vault,
    *,
    reviewer: str,
    tenant: str,
    role: Role,
    permissions: tuple[str, ...],
    actor: str,
) -> tuple[Reviewer, Secrets]:
    """Make a reviewer; the first one of a ledger is an admin as well."""
    if not _is_id(reviewer):
        raise InvalidInput(
            f"{reviewer!r} cannot be a reviewer's id.",
            hint="Use letters, digits, hyphens and dots.",
        )
    for word in (tenant, *permissions):
        if not _NAME.fullmatch(word):
            raise InvalidInput(
                f"{word!r} cannot be the name of a tenant or permission.",
                hint="Use letters, digits, dots, hyphens and underscores.",
            )
    if reviewer.lower() in _RESERVED:
        raise InvalidInput(
            f"{reviewer!r} is a name of the product's own in its records.",
            hint="Choose another id.",
        )
    if tx.locks_rows:
        # Of two who are added at once to an empty ledger, one is the first.
        tx.run(text("SELECT pg_advisory_xact_lock(hashtext('placet reviewers'))"))
    same = select(ReviewerTable.id).where(
        func.lower(ReviewerTable.id) == reviewer.lower(), ReviewerTable.id != reviewer
    )
    if (other := tx.run(same).first()) is not None:
        raise Conflict(
            f"There is a reviewer {other.id} already: ids that differ by case alone "
            "are one person's.",
            code="already_exists",
        )
    first = not tx.run(select(func.count()).select_from(ReviewerTable)).scalar_one()
    row = {
        "id": reviewer,
        "tenant": tenant,
        "role": role,
        "permissions": list(permissions),
        "admin": first or role == "admin",
        "made_at": tx.now,
    }
    if not tx.inserted(ReviewerTable, row):
        raise Conflict(
            f"There is a reviewer {reviewer} already.", code="already_exists"
        )
    _check_key(tx, vault)
    made = _new_secrets(reviewer)
    tx.run(insert(Credential), {"reviewer": reviewer, **_stored(vault, made)})
    audit.append(
        tx,
        audit.ADMIN_CHAIN,
        "reviewer_added",
        actor=actor,
        reviewer=reviewer,
        tenant=tenant,
        role=role,
        permissions=permissions,
    )
    return load(tx, reviewer), made


def rotate(tx: Transaction, vault: Vault, *, reviewer: str, actor: str) -> Secrets:
    """A new token and seed; the old ones are worth nothing from now on."""
    load(tx, reviewer)
    _check_key(tx, vault)
    made = _new_secrets(reviewer)
    fresh = update(Credential).where(Credential.reviewer == reviewer)
    stored = _stored(vault, made)
    tx.run(fresh.values(wrong_codes=0, locked_until=None, **stored))
    audit.append(
        tx, audit.ADMIN_CHAIN, "reviewer_rotated", actor=actor, reviewer=reviewer
    )
    return made


def revoke(tx: Transaction, *, reviewer: str, actor: str) -> None:
    """Take away a reviewer's rights at once; their verdicts stay on record."""
    load(tx, reviewer)
    gone = update(ReviewerTable).where(
        ReviewerTable.id == reviewer, ReviewerTable.revoked_at.is_(None)
    )
    if not tx.wrote(gone.values(revoked_at=tx.now)):
        raise Conflict(f"{reviewer} is revoked already.", code="already_revoked")
    audit.append(
        tx, audit.ADMIN_CHAIN, "reviewer_revoked", actor=actor, reviewer=reviewer
    )


def load(tx: Transaction, reviewer: str) -> Reviewer:
    """A reviewer as they are now, or `NotFound`."""
    found = find(tx, reviewer)
    if found is None:
        raise NotFound(f"There is no reviewer {reviewer}.")
    return found


def find(tx: Transaction, reviewer: str) -> Reviewer | None:
    """A reviewer as they are now, or None."""
    if not _is_id(reviewer):
        return None
    row = tx.one(_ONE, {"id": reviewer})
    return None if row is None else _reviewer(row)


def everybody(tx: Transaction) -> tuple[Reviewer, ...]:
    """All reviewers, revoked ones too."""
    return tuple(_reviewer(row) for row in tx.all(_EVERYBODY))


def prove(
    tx: Transaction, vault: Vault, reviewer: str, proof: Proof
) -> Reviewer | Denied:
    """Who this is, if the proof is theirs. Wrong codes are counted in this transaction.

    An unknown reviewer and a wrong proof get the same answer.
    """
    if tx.locks_rows and _is_id(reviewer):
        # A revocation meanwhile waits for what is being recorded, or has come first.
        known = select(ReviewerTable.id).where(ReviewerTable.id == reviewer)
        tx.run(known.with_for_update(read=True))
    who = find(tx, reviewer)
    if who is None:
        return _wrong()
    if who.revoked:
        return Denied(code="revoked", message=f"{who.id} is no longer a reviewer")
    if isinstance(proof, TokenProof):
        return who if _owns_token(tx, reviewer, proof.token) else _wrong()
    return _prove_by_code(tx, vault, who, proof)


def re_encrypt(tx: Transaction, old: Vault, new: Vault, actor: str) -> int:
    """Encrypt every seed with a new key; how many there were."""
    query = select(Credential.reviewer, Credential.seed).order_by(Credential.reviewer)
    if tx.locks_rows:
        # Whoever makes secrets with the old key now is waited for, and then seen.
        tx.all(query.with_for_update())
    rows = tx.all(query)
    for row in rows:
        seed = new.seal(old.open(row.seed))
        of = update(Credential).where(Credential.reviewer == row.reviewer)
        tx.run(of.values(seed=seed))
    audit.append(tx, audit.ADMIN_CHAIN, "keys_rotated", actor=actor, seeds=len(rows))
    return len(rows)


def is_used(tx: Transaction, reviewer: str, step: int) -> bool:
    """Whether the reviewer's code of that time step was used."""
    query = select(UsedCode.step).where(
        UsedCode.reviewer == reviewer, UsedCode.step == step
    )
    return tx.one(query) is not None


def step_at(moment: datetime) -> int:
    """The number of the time step that a one-time code belongs to (RFC 6238)."""
    return int(moment.timestamp()) // STEP_SECONDS


def _is_id(reviewer: str) -> bool:
    plain = reviewer.replace("-", "").replace(".", "")
    return plain.isascii() and plain.isalnum()


def _prove_by_code(
    tx: Transaction, vault: Vault, who: Reviewer, proof: CodeProof
) -> Reviewer | Denied:
    query = select(Credential).where(Credential.reviewer == who.id)
    # Locked first: of codes tried at the same time, each sees what the others did.
    row = tx.run(query.with_for_update() if tx.locks_rows else query).one()
    if row.locked_until is not None and tx.now < row.locked_until:
        return Denied(
            code="locked_out",
            message=f"after {WRONG_CODES} wrong codes {who.id} is locked until "
            f"{row.locked_until:%H:%M:%S} UTC",
        )
    # Never the future: a code of tomorrow proves nothing today.
    typed_at = min(proof.submitted_at or tx.now, tx.now)
    step = _matching_step(vault.open(row.seed), proof.code, step_at(typed_at))
    if step is None:
        return _count_wrong(tx, who, row.wrong_codes + 1)
    if not tx.inserted(UsedCode, {"reviewer": who.id, "step": step, "at": tx.now}):
        return Denied(
            code="wrong_proof",
            message="this code was used already: wait for the next one",
        )
    _set_wrong(tx, who, 0, None)
    return who


def _matching_step(seed: str, code: str, now: int) -> int | None:
    import pyotp

    clock = pyotp.TOTP(seed)
    # Bytes, since it compares text in ASCII only; a form sends what it likes.
    typed = _bytes(code.replace(" ", ""))
    for step in (now + offset for offset in _WINDOW):
        if hmac.compare_digest(clock.generate_otp(step).encode(), typed):
            return step
    return None


def _count_wrong(tx: Transaction, who: Reviewer, wrong: int) -> Denied:
    if wrong < WRONG_CODES:
        _set_wrong(tx, who, wrong, None)
        return _wrong()
    _set_wrong(tx, who, 0, tx.now + LOCKED_FOR)
    minutes = int(LOCKED_FOR.total_seconds() // 60)
    message = (
        f"that was one wrong code too many: {who.id} is locked for {minutes} minutes"
    )
    return Denied(code="locked_out", message=message)


def _set_wrong(
    tx: Transaction, who: Reviewer, wrong: int, locked: datetime | None
) -> None:
    of = update(Credential).where(Credential.reviewer == who.id)
    tx.run(of.values(wrong_codes=wrong, locked_until=locked))


def _wrong() -> Denied:
    return Denied(code="wrong_proof", message="reviewer and proof do not fit together")


def _owns_token(tx: Transaction, reviewer: str, token: str) -> bool:
    query = select(Credential.token_hash).where(Credential.reviewer == reviewer)
    # Held until the verdict is recorded: a rotation meanwhile waits, or has come first.
    row = tx.one(query.with_for_update(read=True) if tx.locks_rows else query)
    return row is not None and hmac.compare_digest(row.token_hash, _hash(token))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hash(token: str) -> str:
    # 256 random bits need no slow hash; a plain one keeps every request fast.
    return hashlib.sha256(b"placet:token:1\n" + _bytes(token)).hexdigest()


def _new_secrets(reviewer: str) -> Secrets:
    import pyotp

    seed = pyotp.random_base32()
    uri = pyotp.TOTP(seed).provisioning_uri(name=reviewer, issuer_name="Placet")
    return Secrets(token=f"placet_{secrets.token_urlsafe(32)}", seed=seed, uri=uri)


def _check_key(tx: Transaction, vault: Vault) -> None:
    """`Misconfigured` unless the key opens what is there: one ledger, one key.

    A change of the key waits for us from here on, or we for it.
    """
    query = select(Credential.seed).order_by(Credential.reviewer).limit(1)
    row = tx.run(query.with_for_update() if tx.locks_rows else query).first()
    if row is not None:
        vault.open(row.seed)


def _stored(vault: Vault, made: Secrets) -> dict[str, Any]:
    return {"token_hash": _hash(made.token), "seed": vault.seal(made.seed)}


def _reviewer(row: Any) -> Reviewer:
    return Reviewer(
        id=row.id,
        tenant=row.tenant,
        role=row.role,
        permissions=tuple(row.permissions),
        admin=row.admin,
        revoked=row.revoked_at is not None,
        locked_until=row.locked_until,
    )
