"""A year later: what was seen and how it came about, from the stored bytes alone."""

from blocks import packets
from blocks.drafting import replay
from blocks.generation import restore
from policies import canonical
from policies.plan import ReviewPacket
from policies.provenance import Provenance
from tasks.work import Work
from tests import forging
from tests.world import World

PROMISE = "We will refund you the full price."


def seen(world: World, work: Work) -> list[tuple[int, bytes]]:
    """Every packet that was shown, with the version that it was about."""
    return [
        (int(str(e["payload_version"])), world.services.artifacts.get(str(e["packet"])))
        for e in world.told(work, "approval_requested")
    ]


def rebuilt(world: World, work: Work, version: int) -> bytes:
    """The packet of a version, from ledger and artifacts as they are now."""
    item = world.item(work).id
    with world.ledger.read() as tx:
        rows = packets.read_rows(tx, work.workflow, only=(item,))
    made = packets.build(world.services.artifacts, world.domain, rows, {item: version})
    return canonical.canonicalise(made)


def test_s5_the_packet_that_was_seen_is_made_again_byte_for_byte(world: World) -> None:
    """A6"""
    work = world.asked()
    world.edit(work, body="Soon.")
    work, _ = world.next_form(work)
    world.approve(work)
    world.edit_address("c-1", "grace@new.example.com")
    work, _ = world.advance(world.resume(work))
    shown = seen(world, work)
    assert [version for version, _ in shown] == [1, 2]
    assert [rebuilt(world, work, version) for version, _ in shown] == [
        data for _, data in shown
    ]


def test_the_packet_before_an_edit_still_tells_its_own_risk(world: World) -> None:
    """A6"""
    work = world.asked()
    world.edit(work, body=PROMISE)
    work, _ = world.next_form(work)
    shown = seen(world, work)
    risks = [ReviewPacket.model_validate_json(data).items[0] for _, data in shown]
    assert [item.risk_level for item in risks] == ["medium", "high"]
    assert [rebuilt(world, work, version) for version, _ in shown] == [
        data for _, data in shown
    ]


def test_the_packet_needs_no_row_of_the_domain(world: World) -> None:
    """A6"""
    work = world.asked()
    (_, data), *_ = seen(world, work)
    for table in ("customer_emails", "tickets", "customers"):
        forging.run(world.ledger, f"DELETE FROM {table}")
    assert rebuilt(world, work, 1) == data
    assert b"Please track order 100234" in data


def test_every_ref_of_the_ledger_leads_to_its_bytes(world: World) -> None:
    """S5, A6"""
    work, _ = world.advance(world.resumed())
    kept = forging.rows(world.ledger, "artifacts")
    kinds = {str(row[0]).partition("/")[0] for row in kept}
    assert kinds >= {"payload", "evidence", "provenance", "packet", "execution"}
    for ref, _, _, digest, *_ in kept:
        data = world.services.artifacts.get(ref)
        assert canonical.digest("artifact", data) == digest
    assert work.session.status == "completed"


def test_s13_a_draft_is_replayed_from_its_provenance(world: World) -> None:
    """A7"""
    work = world.asked()
    ref = world.version(work).provenance
    assert ref is not None
    store = world.services.artifacts
    provenance = Provenance.model_validate(canonical.read_json(store.get(ref)))
    draft = replay(restore(provenance, store))
    proposal = work.state.proposal or {}
    assert (draft.fields["subject"], draft.fields["body"]) == (
        proposal["subject"],
        proposal["body"],
    )


def test_provenance_names_the_evidence_and_every_version(world: World) -> None:
    """S13, A7"""
    work = world.asked()
    version = world.version(work)
    store = world.services.artifacts
    kept = canonical.read_json(store.get(str(version.provenance)))
    provenance = Provenance.model_validate(kept)
    assert provenance.retrieval_refs == (version.snapshot.evidence[0].ref,)
    assert provenance.prompt_template_version
    assert {"reply", "support_email.send_reply"} <= set(provenance.schema_versions)
    for part in ("system_input", "user_input", "prompt_template", "response"):
        assert store.get(getattr(provenance, part).ref)


def test_an_edit_keeps_the_provenance_of_what_it_began_with(world: World) -> None:
    """A7"""
    work = world.asked()
    first = world.version(work)
    world.edit(work, body="Soon.")
    assert world.version(work).provenance == first.provenance
    assert world.version(work).made_by == "ada"


def test_the_sent_message_is_kept_as_it_was_sent(world: World) -> None:
    """R2"""
    work, _ = world.advance(world.resumed())
    told = world.told(work, "executed")[0]
    answer = canonical.read_json(
        world.services.artifacts.get(str(told["execution_artifact"]))
    )
    assert isinstance(answer, dict)
    message = world.services.artifacts.get(str(answer["message"]))
    assert b"To: grace@example.com" in message
    assert f"Message-ID: {told['provider_ref']}".encode() in message
