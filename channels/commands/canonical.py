"""`placet canonical`: what anyone can check a payload with by hand."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from channels import output
from channels.commands.common import JsonFlag, read_json_file
from policies import canonical


def show(
    file: Path,
    *,
    digest: Annotated[bool, Parameter(negative="")] = False,
    json: JsonFlag = False,
) -> None:
    """Print a JSON file's canonical bytes (RFC 8785) and nothing else.

    Parameters
    ----------
    file
        A file with strict JSON.
    digest
        Print the payload hash of those bytes instead.
    """
    data = canonical.canonical_bytes(read_json_file(file))
    hashed = canonical.payload_hash(data)
    if json:
        output.document({"canonical": data.decode(), "payload_hash": hashed})
    elif digest:
        output.say(hashed)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
