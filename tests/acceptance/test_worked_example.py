"""One request through everything that can happen to it, told back from its mail."""

from __future__ import annotations

from typing import Any

from policies.lifecycle import State
from tasks.work import Work
from tests.acceptance.shell import Shell
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.world import World


def test_from_the_first_draft_to_the_one_mail_that_was_approved(
    shell: Shell, mail: RecordingServer
) -> None:
    """S3, S6, S12, X7, R2: edited, approved, crashed, moved, approved anew, sent."""
    world = shell.world
    work = world.asked()
    world.edit(work, body="Dear Grace,\n\nyour parcel is on its way.\n")
    work, _ = world.refreshed(work)
    world.approve(work)
    work = crash_right_after_the_checkpoint(world, work)
    assert names(world.trail(work)).count("resumed") == 1
    move_address_to_version(world, 42)

    work, shown = world.form(work)
    assert shown is not None and "42" in shown.markdown
    item = world.item(work)
    assert (item.state, item.version) == (State.WAITING_FOR_REVIEW, 3)
    world.approve(work)
    work, _ = world.advance(world.resume(work))

    assert work.session.status == "completed"
    assert [one.recipients for one in mail.received] == [("grace42@example.com",)]
    assert names(world.trail(work)).count("reapproval_required") == 1
    told = path_of_the_mail(shell, mail)
    assert told["workflow_id"] == work.workflow
    (item_told,) = told["items"]
    assert [row["version"] for row in item_told["versions"]] == [1, 2, 3]
    said = [(row["version"], row["verdict"]) for row in item_told["verdicts"]]
    assert said == [(1, "edited"), (2, "approved"), (3, "approved")]
    assert shell.document("audit", "verify")["intact"]


def crash_right_after_the_checkpoint(world: World, work: Work) -> Work:
    """The run goes on with its approval, and another process finds it there."""
    work = world.resume(work)
    assert world.item(work).state == State.GRAPH_RESUMED
    return world.superseded(work)


def move_address_to_version(world: World, version: int) -> None:
    for number in range(2, version + 1):
        world.edit_address("c-1", f"grace{number}@example.com")


def path_of_the_mail(shell: Shell, mail: RecordingServer) -> dict[str, Any]:
    """What one command tells of a mail, by its Message-ID alone."""
    line = next(
        line
        for line in mail.received[0].content.decode().splitlines()
        if line.startswith("Message-ID:")
    )
    found: dict[str, Any] = shell.document("audit", "show", line)["path"]
    return found
