"""How the demo's request ended: what was sent, whether it is what was approved."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from channels.demo_mailbox import Mailbox
from channels.demo_screen import Screen, command, near
from channels.service import Service
from policies import canonical
from policies.errors import PlacetError
from policies.value import Json, Value

_ENDS: Mapping[str, str] = MappingProxyType(
    {
        "completed": "made and carried out",
        "rejected": "made: rejected, nothing was to be carried out",
        "blocked": "none that could be carried out: the request was blocked",
        "expired": "none that could be carried out in time: the request has expired",
        "cancelled": "none that counts: the request was cancelled",
        "failed": "made, but carrying it out has failed",
        "unknown": "made; whether it was carried out is not known",
    }
)


class SentMail(Value):
    """A mail that was sent, and the version of the draft that it is."""

    message_id: str
    version: int
    file: str
    sender: str
    recipient: str
    subject: str
    text: str


class Ending(Value):
    """The end of the demo's request."""

    workflow_id: str
    flow_run_id: str | None
    status: str
    closing: tuple[str, ...]
    sent: tuple[SentMail, ...]
    path: dict[str, Json]
    """From the message back to the ticket, as `placet audit show` tells it."""


def ending_of(service: Service, workflow: str, mailbox: Mailbox) -> Ending:
    """How the request ended; an error if a mail is not what was approved, once."""
    status, path = service.status(workflow), service.path_of(workflow)
    sent = tuple(
        _sent(service, mailbox, item["item"], execution)
        for item in path["items"]
        for execution in item["executions"]
        if execution["outcome"] == "executed"
    )
    executions = [done for item in path["items"] for done in item["executions"]]
    may_be_there = [e for e in executions if e["outcome"] in ("executed", "unknown")]
    approved = {done["provider_ref"] for done in may_be_there}
    for mail in mailbox.received:
        if mail.message_id not in approved:
            raise _wrong(f"{mail.message_id} was sent without an approval")
    return Ending(
        workflow_id=workflow,
        flow_run_id=status["flow_run_id"],
        status=status["status"],
        closing=status["closing"],
        sent=sent,
        path=path,
    )


def decision_of(status: str) -> str:
    """What became of the decision of a request that has ended so."""
    return _ENDS[status]


def tell(ending: Ending, screen: Screen, service: Service, outbox: Path) -> None:
    """Print the sent messages and their path, or why nothing was sent."""
    if ending.status != "completed":
        screen.say(f"The request is {ending.status}: {'; '.join(ending.closing)}.")
    if not ending.sent:
        unknown = "Whether anything was sent is not known."
        words = unknown if ending.status == "unknown" else "Nothing was sent."
        screen.say(words, "bold")
    for mail in ending.sent:
        screen.quote(
            f"Sent: version {mail.version}, exactly as approved",
            f"From: {mail.sender}\nTo: {mail.recipient}\nSubject: {mail.subject}\n"
            f"Message-ID: {mail.message_id}\n\n{mail.text}",
        )
    screen.say("Its path, from the ticket to here:", "bold")
    for name, words in _path(ending.path):
        screen.say(f"  {name:<10} {words}")
    for mail in ending.sent:
        screen.say(f"  {'kept':<10} {near(outbox / mail.file)}")
    screen.say()
    reference = ending.sent[0].message_id if ending.sent else ending.workflow_id
    screen.say("Every step of it:", "bold")
    screen.say(f"  {command(service, 'audit', 'show', reference)}")


def _sent(
    service: Service, mailbox: Mailbox, item: str, execution: dict[str, Any]
) -> SentMail:
    mails = mailbox.find(execution["provider_ref"])
    if len(mails) != 1:
        raise _wrong(f"{execution['provider_ref']} arrived {len(mails)} times")
    packet = service.show(item, execution["version"]).packet
    fields = {field.name: field.value for field in packet.items[0].fields}
    mail = mails[0]
    if mail.fields != {name: fields[name] for name in mail.fields}:
        raise _wrong(f"{mail.message_id} is not what was approved")
    return SentMail(
        message_id=mail.message_id,
        version=execution["version"],
        file=mail.file.name,
        sender=mail.fields["sender"],
        recipient=mail.fields["recipient"],
        subject=mail.fields["subject"],
        text=mail.fields["body"],
    )


def _path(path: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "request", f"{path['workflow_id']}, asked for by {path['requested_by']}"
    for item in path["items"]:
        for evidence in item["versions"][0]["evidence"]:
            yield "ticket", f"as collected, {_short(evidence['digest'])}"
        for version in item["versions"]:
            yield f"version {version['version']}", _made(version)
        for said in item["verdicts"]:
            why = f": {said['reason']}" if said["reason"] else ""
            yield (
                str(said["verdict"]),
                f"version {said['version']} by {said['reviewer']}, "
                f"{said['channel']}, {_time(said['at'])}{why}",
            )
        for done in item["executions"]:
            yield (
                str(done["outcome"]),
                f"version {done['version']} as {done['provider_ref']}, "
                f"{_time(done['at'])}",
            )


def _made(version: dict[str, Any]) -> str:
    payload, made = _short(version["payload_hash"]), version["made_from"]
    if version["version"] > 1 or made is None:
        return f"made by {version['made_by']}, payload {payload}"
    source = _short(made["user_input"]["digest"])
    return (
        f"drafted by {made['model']} ({made['route']}) from input {source}, "
        f"payload {payload}"
    )


def _short(digest: str) -> str:
    return canonical.short(digest)


def _time(stamp: str) -> str:
    return f"{stamp[11:19]} UTC"


def _wrong(what: str) -> PlacetError:
    return PlacetError(
        f"This must never happen: {what}.",
        code="not_as_approved",
        hint="Please report it, with `placet audit show`.",
    )
