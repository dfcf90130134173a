"""The artifact store: bytes by their content, behind fsspec.

Written once and never overwritten; what is read is verified against its own name, so
that bytes that were changed behind our back are noticed and never used. A mark at the
root tells a store that lost something from one that is not there at all.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from blocks import private
from policies import canonical
from policies.errors import Conflict, Misconfigured, NotFound, Unavailable
from policies.value import Value

Kind: TypeAlias = Literal[
    "payload", "evidence", "prompt", "response", "provenance", "execution", "packet"
]

_MARK = "placet-store"
_MARK_SAYS = b"The artifacts of a Placet ledger lie here.\n"


class StoredArtifact(Value):
    """Where bytes lie and what they are; `ref` is made of kind and digest."""

    ref: str
    kind: Kind
    digest: str
    media_type: str
    size: int


def describe(
    data: bytes, kind: Kind, media_type: str = "application/json"
) -> StoredArtifact:
    """What bytes are called once they are kept; keeps nothing."""
    digest = canonical.digest("artifact", data)
    return StoredArtifact(
        ref=f"{kind}/{digest}",
        kind=kind,
        digest=digest,
        media_type=media_type,
        size=len(data),
    )


class ArtifactStore:
    """A folder, bucket or anything else that fsspec can open, by URL or path.

    `is_used` says whether a ledger has artifacts: then an empty store is not its own.
    """

    def __init__(self, url: str, is_used: Callable[[], bool] = lambda: False) -> None:
        self.url = url
        self._is_used = is_used
        self._fs: Any = None
        self._root = ""

    def put(
        self, data: bytes, kind: Kind, media_type: str = "application/json"
    ) -> StoredArtifact:
        """Keep bytes and say how they are found again; the same bytes are kept once.

        Where bytes lie that were altered since, they are put right: a ref means these.
        """
        stored = describe(data, kind, media_type)
        path = self._path(stored.ref)
        try:
            self._mark_as_ours()
            if not self._holds(path, data):
                self._write(path, data)
        except OSError as error:
            raise self._unavailable(error) from error
        return stored

    def get(self, ref: str) -> bytes:
        """A ref's bytes. `NotFound`, or `Conflict` if they are not what was put."""
        data = self.read_unverified(ref)
        if canonical.digest("artifact", data) != ref.partition("/")[2]:
            raise Conflict(
                f"The stored bytes of {ref} are not those that were put there.",
                code="artifact_altered",
            )
        return data

    def read_unverified(self, ref: str) -> bytes:
        """A ref's bytes as they are now, for whoever hashes them against a copy.

        `NotFound` if they are gone, `Unavailable` if the whole store is.
        """
        try:
            data = self.filesystem.cat_file(self._path(ref))
        except FileNotFoundError as error:
            if self._is_away():
                raise self._away() from error
            raise NotFound(f"There is no artifact {ref}.") from error
        except OSError as error:
            raise self._unavailable(error) from error
        return bytes(data)

    @property
    def filesystem(self) -> Any:
        """The fsspec file system, connected at first use."""
        if self._fs is None:
            import fsspec

            try:
                self._fs, self._root = fsspec.core.url_to_fs(self.url)
            except (ValueError, ImportError) as error:
                raise self._misconfigured(error) from error
        return self._fs

    def _path(self, ref: str) -> str:
        kind, _, digest = ref.partition("/")
        name = digest.removeprefix("sha256:")
        if not kind.isalpha() or len(name) != 64 or not name.isalnum():
            raise NotFound(f"{ref!r} is not the ref of an artifact.")
        _ = self.filesystem
        return f"{self._root}/{kind}/{name[:2]}/{name}"

    @property
    def _mark(self) -> str:
        _ = self.filesystem
        return f"{self._root}/{_MARK}"

    def _mark_as_ours(self) -> None:
        if self._holds(self._mark, _MARK_SAYS):
            return
        if self._is_used() and self._is_away():
            raise self._away()
        self._write(self._mark, _MARK_SAYS)

    def _is_away(self) -> bool:
        """Whether there is neither the mark nor, for a store without one, anything."""
        fs = self.filesystem
        fs.invalidate_cache()
        try:
            if self._holds(self._mark, _MARK_SAYS):
                return False
            found = fs.ls(self._root, detail=False)
        except FileNotFoundError:
            return True
        except OSError as error:
            raise self._unavailable(error) from error
        names = {str(path).rstrip("/").rpartition("/")[2] for path in found}
        return names.isdisjoint((_MARK, *get_args(Kind)))

    def _holds(self, path: str, data: bytes) -> bool:
        try:
            return bool(self.filesystem.cat_file(path) == data)
        except FileNotFoundError:
            return False

    def _write(self, path: str, data: bytes) -> None:
        """Whole or not at all: a reader never meets half an artifact."""
        fs = self.filesystem
        if "file" not in _protocols(fs):
            fs.makedirs(path.rpartition("/")[0], exist_ok=True)
            fs.pipe_file(path, data)
            return
        private.make_folder(Path(path).parent)
        draft = Path(f"{path}.{os.getpid()}.{os.urandom(4).hex()}")
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def _misconfigured(self, error: Exception) -> Misconfigured:
        """A scheme that fsspec does not know, or whose package is not installed."""
        told = " ".join(str(error).split()).rstrip(".")
        return Misconfigured(
            f"PLACET_ARTIFACTS ({self.url}) cannot be used: {told}.",
            hint="Use a folder or a URL of an installed fsspec file system.",
        )

    def _away(self) -> Unavailable:
        return Unavailable(
            f"The artifact store {self.url} is empty: it is not the one that was used.",
            hint="Nothing ends by this. Check PLACET_ARTIFACTS and that it is mounted.",
        )

    def _unavailable(self, error: OSError) -> Unavailable:
        return Unavailable(
            f"The artifact store {self.url} cannot be used: {error}.",
            hint="Check PLACET_ARTIFACTS.",
        )


def _protocols(fs: Any) -> tuple[str, ...]:
    protocol = fs.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)
