"""The artifact store: written once, verified on reading, whatever lies behind it."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from blocks.artifacts import ArtifactStore
from policies.errors import Conflict, NotFound, Unavailable
from tests.together import together

NO_REFS = (
    "",
    "payload",
    "payload/",
    "../payload/sha256:" + "a" * 64,
    "payload/../../etc/passwd",
    "payload/sha256:" + "../" * 21 + "a",
    "payload/sha256:" + "a" * 63,
    "payload/sha256:" + "a" * 65,
    "payload/" + "a" * 62 + "/b",
    "/etc/passwd",
    "payload\x00/sha256:" + "a" * 64,
    "file:///etc/passwd",
)


@pytest.fixture(params=["folder", "file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ArtifactStore]:
    """A store behind each kind of address."""
    place = tmp_path / "artifacts"
    urls = {"folder": str(place), "file": place.as_uri(), "memory": "memory://placet"}
    yield ArtifactStore(urls[request.param])
    fsspec.filesystem("memory").store.clear()


def path_of(store: ArtifactStore, ref: str) -> str:
    (found,) = (p for p in store.filesystem.find("/") if ref[-64:] in p)
    return str(found)


def files(store: ArtifactStore) -> list[str]:
    found = map(str, store.filesystem.find(path_root(store)))
    return [path for path in found if not path.endswith("/placet-store")]


def path_root(store: ArtifactStore) -> str:
    root: str = fsspec.core.url_to_fs(store.url)[1]
    return root


def alter(store: ArtifactStore, data: bytes) -> None:
    (path,) = files(store)
    store.filesystem.pipe_file(path, data)


def test_no_other_account_can_read_what_is_kept(tmp_path: Path) -> None:
    """R3: evidence and drafts are people's texts."""
    ArtifactStore(str(tmp_path / "home" / "artifacts")).put(b"text", "evidence")

    folders = [p for p in (tmp_path / "home").rglob("*") if p.is_dir()]
    assert {p.stat().st_mode & 0o777 for p in folders} == {0o700}


def test_what_is_put_is_found_by_its_ref(store: ArtifactStore) -> None:
    kept = store.put(b'{"a":1}', "payload")
    assert store.get(kept.ref) == b'{"a":1}'
    assert (kept.size, kept.media_type) == (7, "application/json")
    assert kept.ref == f"payload/{kept.digest}"


def test_the_same_bytes_are_kept_once_and_under_each_kind(
    store: ArtifactStore,
) -> None:
    first = store.put(b"same", "payload")
    assert store.put(b"same", "payload") == first
    assert len(files(store)) == 1
    other = store.put(b"same", "evidence")
    assert (other.digest, other.ref != first.ref) == (first.digest, True)
    assert len(files(store)) == 2


def test_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    store = ArtifactStore(str(tmp_path))
    store.put(b"same", "payload")
    (path,) = files(store)
    before = Path(path).stat()
    store.put(b"same", "payload")
    assert (Path(path).stat().st_ino, Path(path).stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


def test_many_who_put_the_same_bytes_at_once_leave_one_whole_file(
    store: ArtifactStore,
) -> None:
    data = bytes(range(256)) * 400
    kept = together(8, lambda _: store.put(data, "payload"))
    assert len({str(one) for one in kept}) == 1
    assert len(files(store)) == 1
    assert store.get(str(kept[0].ref)) == data  # type: ignore[union-attr]


def test_altered_bytes_are_noticed_and_never_used(store: ArtifactStore) -> None:
    kept = store.put(b"approved", "payload")
    alter(store, b"forged")
    with pytest.raises(Conflict) as refused:
        store.get(kept.ref)
    assert refused.value.code == "artifact_altered"
    assert store.read_unverified(kept.ref) == b"forged"


def test_altered_bytes_are_put_right_by_whoever_has_the_true_ones(
    store: ArtifactStore,
) -> None:
    kept = store.put(b"approved", "payload")
    alter(store, b"forged")
    assert store.put(b"approved", "payload") == kept
    assert store.get(kept.ref) == b"approved"


def test_what_was_never_put_or_is_gone_is_not_found(store: ArtifactStore) -> None:
    kept = store.put(b"short-lived", "payload")
    with pytest.raises(NotFound):
        store.get(kept.ref.replace("payload", "evidence"))
    store.filesystem.rm_file(files(store)[0])
    with pytest.raises(NotFound):
        store.get(kept.ref)


def test_a_store_that_is_away_is_not_one_that_lost_something(
    store: ArtifactStore,
) -> None:
    """A folder that is not mounted looks empty; so does a wrong PLACET_ARTIFACTS."""
    kept = store.put(b"approved", "payload")
    store.filesystem.rm(path_root(store), recursive=True)
    store.filesystem.makedirs(path_root(store))
    with pytest.raises(Unavailable, match="PLACET_ARTIFACTS"):
        store.get(kept.ref)
    store.put(b"another", "payload")
    with pytest.raises(NotFound):
        store.get(kept.ref)


def test_an_empty_store_is_taken_for_a_used_ledger_only_when_marked_by_hand(
    tmp_path: Path,
) -> None:
    store = ArtifactStore(str(tmp_path), is_used=lambda: True)
    with pytest.raises(Unavailable):
        store.put(b"approved", "payload")
    (tmp_path / "placet-store").touch()
    assert store.get(store.put(b"approved", "payload").ref) == b"approved"


def test_a_store_that_was_made_without_a_mark_gets_one(store: ArtifactStore) -> None:
    kept = store.put(b"approved", "payload")
    mark = f"{path_root(store)}/placet-store"
    store.filesystem.rm_file(mark)
    with pytest.raises(NotFound):
        store.get(kept.ref.replace("payload", "evidence"))
    store.put(b"approved", "payload")
    assert store.filesystem.exists(mark)


def test_what_is_no_ref_reaches_no_file(store: ArtifactStore) -> None:
    for ref in NO_REFS:
        with pytest.raises(NotFound):
            store.read_unverified(ref)


def test_a_store_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    store = ArtifactStore(str(tmp_path / "file" / "artifacts"))
    with pytest.raises(Unavailable, match="artifact store") as refused:
        store.put(b"data", "payload")
    assert "PLACET_ARTIFACTS" in str(refused.value)
