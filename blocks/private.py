"""Files that only their owner may read: payloads, verdicts and seeds lie in them."""

import os
from contextlib import suppress
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing; what is there stays so."""
    for path in (*reversed(folder.parents), folder):
        if not path.is_dir():
            path.mkdir(_FOLDER, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file unless something is there.

    What is there is not opened: to close a file drops every POSIX lock of this process
    on it, and SQLite's are of that kind. Another process would then take itself for the
    last one, remove the write-ahead log, and all that is written here is lost.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDONLY, _FILE))
