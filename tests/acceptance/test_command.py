"""The commands around the verdicts: set-up, people, keys, where it is, the trail."""

from __future__ import annotations

from pathlib import Path

import pytest

from blocks.desk import Taken
from blocks.ledger import people
from blocks.ledger.database import HEADS
from blocks.ledger.people import CodeProof
from blocks.vault import Vault
from channels import output
from policies import canonical
from policies.access import Reviewer
from tests import forging
from tests.acceptance.command_line import run_command
from tests.acceptance.shell import Shell
from tests.world import SEND, World

ALAN = {"id": "c-9", "name": "Alan Kay", "email": "kay@example.com"}
NOTHING: dict[str, list[str]] = {
    name: [] for name in ("frozen", "items", "questions", "outcomes")
}
RIGHTS = ("--role", "reviewer", "--tenant", "main", "--permission", SEND)


def test_a_new_ledger_is_made_and_then_left_as_it_is(
    empty_database: str, tmp_path: Path
) -> None:
    """W4: `placet db upgrade`."""
    env = {"PLACET_HOME": str(tmp_path), "PLACET_DATABASE_URL": empty_database}
    before = run_command(("queue", "--json"), env)
    first = run_command(("db", "upgrade", "--json"), env)
    again = run_command(("db", "upgrade"), env)
    after = run_command(("queue", "--json"), env)

    assert (before.code, before.document["error"]["code"]) == (2, "ledger_empty")
    assert first.document["changed"] is True
    assert first.document["revisions"] == sorted(HEADS)
    assert (again.code, "was at the newest schema" in again.out) == (0, True)
    assert after.document == NOTHING


def test_what_the_command_makes_is_for_its_owner_alone(tmp_path: Path) -> None:
    """W4: folder and ledger hold people's texts and the hashes of their tokens."""
    home = tmp_path / "work" / ".placet"
    env = {"PLACET_HOME": str(home)}

    assert run_command(("db", "upgrade"), env).code == 0

    modes = {path.name: path.stat().st_mode & 0o777 for path in (home, *home.iterdir())}
    assert modes.pop(".placet") == 0o700
    assert set(modes.values()) == {0o600}


def test_a_setting_that_does_not_exist_is_named_in_one_line(shell: Shell) -> None:
    """W4: a slip in an environment variable has an effect elsewhere."""
    shell.env["PLACET_ENVIROMENT"] = "test"

    said = shell.run("queue", "--json")

    assert said.document == NOTHING
    assert said.err == (
        "placet: PLACET_ENVIROMENT is no setting and has no effect; "
        "PLACET_ENVIRONMENT is.\n"
    )


def test_records_are_loaded_once(shell: Shell) -> None:
    """W4: `placet load`; another content under the same id is a conflict."""
    ticket = {"id": "t-9", "customer": "c-9", "sender": "kay@example.com"}
    records = {"customers": [ALAN], "tickets": [ticket]}
    file = shell.write("records.json", records)
    changed = {"tickets": [{**ticket, "message": "Another one."}]}
    other = shell.write("other.json", changed)

    loaded = shell.document("load", "support_email", file)
    assert (loaded["loaded"], loaded["new"]) == (["c-9", "t-9"], ["c-9", "t-9"])
    said = shell.said("load", "support_email", file)
    assert "0 new, 0 changed, 2 unchanged" in said and "c-9, t-9" in said
    assert shell.refused("load", "support_email", other) == (5, "already_exists")


@pytest.mark.parametrize("records", ({}, {"tickets": []}))
def test_a_file_without_records_is_no_load(shell: Shell, records: object) -> None:
    """W4: `placet load` of nothing is a slip."""
    file = shell.write("records.json", records)

    assert shell.refused("load", "support_email", file) == (2, "no_records")


@pytest.mark.parametrize(
    ("ticket", "words"),
    (
        ({"sender": "stranger@example.com"}, "has the address stranger@example.com"),
        ({"sender": "kay@example.com", "customer": "c-0"}, "has no customer c-0"),
    ),
)
def test_a_ticket_that_nobody_could_answer_is_not_loaded(
    shell: Shell, ticket: dict[str, str], words: str
) -> None:
    """W4: `placet load`: neither the customer nor the sender is known."""
    file = shell.write("records.json", {"tickets": [{"id": "t-9", **ticket}]})

    said = shell.run("load", "support_email", file)

    assert (said.code, words in said.err) == (2, True)


def test_the_first_reviewer_is_an_admin_and_secrets_are_told_once(
    database: str, tmp_path: Path
) -> None:
    """W4: `placet reviewers add` and `list`."""
    env = {
        "PLACET_HOME": str(tmp_path),
        "PLACET_DATABASE_URL": database,
        "PLACET_SECRET_KEY": "a key for this test alone",
    }
    first = run_command(("reviewers", "add", "zoe", *RIGHTS, "--json"), env).document
    second = run_command(("reviewers", "add", "yan", *RIGHTS), env)
    listed = run_command(("reviewers", "list", "--json"), env)
    table = run_command(("reviewers", "list"), env).out

    assert first["uri"].startswith("otpauth://totp/Placet:zoe?secret=")
    assert first["seed"] in first["uri"] and first["token"].startswith("placet_")
    assert [line for line in second.out.splitlines() if "otpauth://" in line]
    admins = {who["id"]: who["admin"] for who in listed.document["reviewers"]}
    assert admins == {"yan": False, "zoe": True}
    assert first["token"] not in listed.out and first["seed"] not in listed.out
    assert "admin" in table and SEND in table


def test_without_a_key_a_newcomer_is_told_how_to_go_on(shell: Shell) -> None:
    """W4: which variable, how one is made, and who needs the same one."""
    del shell.env["PLACET_SECRET_KEY"]

    said = shell.run("reviewers", "add", "zoe", *RIGHTS)

    assert said.code == 2
    for words in ("export PLACET_SECRET_KEY=", "openssl rand -hex 32", "every process"):
        assert words in said.err


def test_a_permission_that_no_tool_asks_for_is_refused(shell: Shell) -> None:
    """W4: `placet reviewers add` with a slip in it names what there is."""
    add = ("reviewers", "add", "--role", "reviewer", "--tenant", "main")

    said = shell.run(*add, "zoe", "--permission", SEND, "--permission", "support.send")

    assert (said.code, "'support.send'" in said.err) == (2, True)
    assert f"Known: {SEND}." in said.err
    assert "zoe" not in shell.said("reviewers", "list")
    assert shell.document(*add, "amy")["reviewer"]["permissions"] == []


def test_who_administers_is_on_record(shell: Shell) -> None:
    """W4: `--as` proves an admin; without it, it is whoever has the shell."""
    world = shell.world
    add = ("reviewers", "add")

    shell.document(*add, "one", *RIGHTS)
    shell.document(*add, "two", *RIGHTS, "--as", "ada", by="ada")

    assert shell.refused(*add, "three", *RIGHTS, "--as", "bob", by="bob") == (
        3,
        "missing_permission",
    )
    assert shell.refused(*add, "four", *RIGHTS, "--as", "ada", by="bob") == (
        3,
        "wrong_proof",
    )
    actors = [facts["actor"] for facts in world.told("admin", "reviewer_added")]
    assert actors[-1] == "ada" and str(actors[-2]).startswith("shell:")


def test_new_secrets_make_the_old_ones_worthless(shell: Shell) -> None:
    """W4: `placet reviewers rotate`."""
    world = shell.world
    work = world.asked()
    old = world.people["ada"]

    made = shell.document("reviewers", "rotate", "ada")

    assert made["token"] != old.token and made["seed"] != old.seed
    assert shell.verdict(work, "approve").code == 3
    world.people["ada"] = old._replace(token=made["token"])
    assert shell.verdict(work, "approve").code == 0
    assert "token" in shell.said("reviewers", "rotate", "bob")


def test_a_revoked_reviewer_decides_nothing(shell: Shell) -> None:
    """W4: `placet reviewers revoke`; what was decided stays on record."""
    work = shell.world.asked()

    assert "ada may decide nothing any more." in shell.said(
        "reviewers", "revoke", "ada"
    )
    seen = shell.seen(work)
    decide = ("decide", shell.world.item(work).id, "approve", "--as", "ada", *seen)
    assert shell.refused(*decide, by="ada") == (3, "revoked")
    assert shell.refused("reviewers", "revoke", "ada") == (5, "already_revoked")
    assert "revoked" in shell.said("reviewers", "list")


def test_a_new_key_opens_every_seed_and_the_old_one_none(shell: Shell) -> None:
    """W4: `placet keys rotate`."""
    world = shell.world
    before = shell.env["PLACET_SECRET_KEY"]

    made = shell.document("keys", "rotate")

    assert made["seeds"] == len(world.people)
    proof = CodeProof(code=world.code("ada"))
    with world.ledger.write() as tx:
        who = people.prove(tx, Vault(made["secret_key"]), "ada", proof)
    assert isinstance(who, Reviewer)
    assert shell.refused("keys", "rotate") == (2, "misconfigured")
    shell.env["PLACET_SECRET_KEY"] = made["secret_key"]
    assert before not in shell.said("keys", "rotate")


def test_the_trail_of_people_and_keys_can_be_read(shell: Shell) -> None:
    """R1: it belongs to no request, and has no path."""
    said = shell.document("audit", "show", "admin")
    assert said["path"] is None
    assert "reviewer_added" in [event["event"] for event in said["events"]]
    assert "reviewer_added" in shell.said("audit", "show", "admin")


def test_the_status_tells_what_a_request_waits_for(shell: Shell) -> None:
    """W4: `placet status`."""
    world = shell.world
    work = world.asked()
    said = shell.document("status", work.workflow)

    assert (said["status"], said["interrupt"], said["process"] is not None) == (
        "waiting",
        "r1",
        True,
    )
    assert said["items"][0]["item"] == world.item(work).id
    assert said["completed_steps"][-1] == "resolve_review"
    told = shell.said("status", work.workflow)
    assert f"{work.workflow} is waiting." in told and "waiting_for_review" in told


def test_only_an_open_request_that_nobody_carries_is_resumed(shell: Shell) -> None:
    """W4: `placet resume`, where there is nothing to resume."""
    world = shell.world
    work = world.asked("held")
    closed = done(world)

    assert shell.refused("resume", work.workflow) == (5, "lease_held")
    assert shell.refused("resume", closed) == (5, "request_closed")


def test_the_trail_leads_from_a_message_back_to_the_ticket(shell: Shell) -> None:
    """R2, W4: `placet audit show`, by workflow, by item and by Message-ID alone."""
    workflow = done(shell.world)
    whole = shell.document("audit", "show", workflow)
    (item,) = whole["path"]["items"]
    message_id = item["executions"][0]["provider_ref"]

    operation = item["executions"][0]["key"]
    bare = message_id.strip("<>")
    for reference in (item["item"], operation, message_id, bare):
        for pasted in (reference, f" {reference}\t"):
            assert shell.document("audit", "show", pasted) == whole
    for header in (f"Message-ID: {message_id}", f"message-id:{bare}"):
        assert shell.document("audit", "show", header) == whole
    evidence = item["versions"][0]["evidence"][0]["ref"]
    told = shell.said("audit", "show", message_id)
    assert all(word in told for word in (workflow, evidence, "approved v1 by ada"))
    assert [e["event"] for e in whole["events"]][-1] == "request_closed"


def test_an_operation_is_found_before_it_is_claimed(shell: Shell) -> None:
    """W4: `placet audit show`, by the key of what waits for a verdict."""
    work = shell.world.asked()
    key = shell.world.version(work).snapshot.key

    found = shell.document("audit", "show", key)

    assert found["path"]["workflow_id"] == work.workflow
    assert shell.refused("audit", "show", "op-none") == (4, "not_found")


def test_an_altered_trail_is_found(shell: Shell) -> None:
    """R1, W4: `placet audit verify` ends 1 and names the first bad event."""
    workflow = done(shell.world)
    whole = shell.document("audit", "verify")
    assert (whole["intact"], whole["fault"]) == (True, None)
    assert "every chain is intact" in shell.said("audit", "verify")

    change = "UPDATE audit_events SET facts = '{}' WHERE chain = :chain AND seq = 3"
    forging.forge(shell.world.ledger, "audit_events", change, chain=workflow)

    found = shell.run("audit", "verify", "--json")
    assert found.code == 1
    assert found.document["fault"] == {
        "chain": workflow,
        "seq": 3,
        "problem": "this event was altered",
    }
    assert f"Broken: {workflow}, event 3" in shell.run("audit", "verify").out


@pytest.mark.parametrize("dialect", ("sqlite",))
def test_a_payload_can_be_checked_by_hand(shell: Shell) -> None:
    """A1, W4: `placet canonical`, as bytes, as digest and as a document."""
    payload = rb'{ "b": "\u00e9\/", "a": [1.0, 2e1] }'
    file = shell.world.folder / "payload.json"
    file.write_bytes(payload)
    data = '{"a":[1,20],"b":"\u00e9/"}'

    assert shell.said("canonical", str(file)) == data
    digest = shell.said("canonical", str(file), "--digest").strip()
    assert digest == canonical.payload_hash(data.encode())
    both = shell.document("canonical", str(file))
    assert both == {"canonical": data, "payload_hash": digest}


def test_the_digest_of_a_shown_payload_is_the_one_that_is_approved(
    shell: Shell,
) -> None:
    """A1, W4: what `placet show` names and `placet canonical` finds are the same."""
    world = shell.world
    work = world.asked()
    (shown,) = shell.document("show", world.item(work).id)["packet"]["items"]
    fields = {field["name"]: field["value"] for field in shown["fields"]}
    file = shell.write("payload.json", fields)

    digest = shell.said("canonical", file, "--digest").strip()

    assert shown["payload"]["hash"] == digest


def done(world: World) -> str:
    """A request that was approved and sent."""
    work, _ = world.advance(world.resumed())
    assert not work.session.is_open
    return work.workflow


def test_a_new_key_that_could_not_be_told_is_not_taken(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E: nobody would have it, and every seed would be lost."""

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(output, "say", full)
        assert shell.run("keys", "rotate").code == 1
    work = shell.world.asked()
    outcome = shell.world.by_code(work, shell.world.says(work, "approve"))
    assert isinstance(outcome, Taken)
