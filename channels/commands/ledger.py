"""`placet db` and `placet load`: the ledger's database and a domain's records."""

from pathlib import Path

from blocks.ledger.database import HEADS, open_ledger
from blocks.settings import load_settings
from channels import output
from channels.commands.common import (
    Admin,
    JsonFlag,
    actor,
    read_json_file,
    service,
    warn_of_unknown_settings,
)


def upgrade(*, json: JsonFlag = False) -> None:
    """Migrate the ledger to the newest schema."""
    from blocks.ledger import schema

    warn_of_unknown_settings()
    ledger = open_ledger(load_settings().database_url)
    changed = schema.upgrade(ledger)
    if json:
        output.document(
            {"ledger": ledger.address, "changed": changed, "revisions": sorted(HEADS)}
        )
        return
    words = "is at the newest schema now" if changed else "was at the newest schema"
    output.say(f"The ledger {ledger.address} {words}.")


def load(
    domain: str,
    file: Path,
    *,
    admin: Admin = None,
    json: JsonFlag = False,
) -> None:
    """Put a domain's records into its tables; the same records again change nothing.

    Parameters
    ----------
    domain
        The name of a registered domain.
    file
        A JSON file with the domain's records.
    """
    serving = service()
    records = read_json_file(file)
    loaded = serving.load_records(domain, records, actor(serving, admin))
    kinds = loaded._asdict()
    names = [name for kind in kinds.values() for name in kind]
    if json:
        output.document({"domain": domain, "loaded": names, **kinds})
        return
    counts = ", ".join(f"{len(kind)} {word}" for word, kind in kinds.items())
    told = [f"{word}: {', '.join(kind)}" for word, kind in kinds.items() if kind]
    output.entry(f"{domain}: {counts}.", details=told)
