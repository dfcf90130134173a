"""Opening a request's session and taking its lease."""

import importlib
import os
import socket
from typing import Any, cast

from pydantic import ValidationError

from blocks.domain import domain_of
from blocks.ledger import sessions
from blocks.ledger.sessions import Opening, Session
from policies import canonical
from policies.adapter import BaseRequest
from policies.errors import InvalidInput
from policies.problems import problems_of
from policies.value import Json
from tasks import work as working
from tasks.domains import find_domain
from tasks.services import Services
from tasks.work import Work

MAX_REQUEST_BYTES = 256 * 1024
"""A request names things; what is larger belongs into the domain's tables."""


def read_request(domain: str, request: object) -> BaseRequest:
    """A request as its domain's model; `InvalidInput` says field by field what is off.

    The request is measured and normalised first: what cannot be written canonically
    cannot be compared with a later request of the same id.
    """
    adapter = find_domain(domain).adapter
    if not isinstance(request, dict):
        raise InvalidInput("A request is a JSON object.", code="invalid_request")
    plain = canonical.normalise(cast(Json, request))
    if len(canonical.canonical_bytes(plain)) > MAX_REQUEST_BYTES:
        raise InvalidInput(
            f"The request is larger than {MAX_REQUEST_BYTES // 1024} kB.",
            code="too_large",
        )
    try:
        return adapter.request_model.model_validate(plain)
    except ValidationError as error:
        found = "; ".join(problems_of(error, "the request"))
        raise InvalidInput(
            f"This is no request for {domain}: {found}.", code="invalid_request"
        ) from error


def open_session(
    services: Services,
    domain: str,
    request: object,
    request_id: str,
    *,
    flow_run_id: str | None = None,
    deployed: bool = False,
) -> Session:
    """The request's session, made if it is new; the same id, the same session."""
    read = read_request(domain, request)
    check_services(services, domain)
    opening = Opening(
        request_id=check_request_id(request_id),
        domain=domain,
        tenant=read.tenant,
        requested_by=read.requested_by,
        environment=services.environment,
        request=read.model_dump(mode="json"),
        flow_run_id=flow_run_id,
        deployed=deployed,
    )
    with services.ledger.write() as tx:
        return sessions.open_or_get(tx, opening)


def check_services(services: Services, domain: str) -> None:
    """`Misconfigured` if this process could not carry a request to its end."""
    services.vault.check()
    for name in find_domain(domain).needs:
        getattr(services, name)


def check_request_id(request_id: str) -> str:
    """A request id as given, or `InvalidInput`."""
    if not request_id.strip() or len(request_id) > 200 or not request_id.isprintable():
        raise InvalidInput(
            "A request id is 1 to 200 printable characters.", code="invalid_request_id"
        )
    return request_id


def take_lease(
    services: Services, workflow: str, flow_run_id: str | None
) -> Work | None:
    """The session under a new lease, or None while another process holds it."""
    seconds = services.settings.lease_seconds
    with services.ledger.write() as tx:
        held = sessions.acquire(tx, workflow, owner(), seconds, flow_run_id)
        return None if held is None else working.read(tx, held)


def give_lease_back(services: Services, work: Work) -> None:
    """Let others have the session; whoever waits for a person holds no lease."""
    with services.ledger.write() as tx:
        sessions.release(tx, work.workflow, work.held.token)


def owner() -> str:
    """Who this process is, for people who look at a lease."""
    return f"{socket.gethostname()}:{os.getpid()}"


def tools_of(services: Services, domain: str) -> Any:
    """The module that runs a domain's tools; imported only by whoever runs them."""
    return importlib.import_module(domain_of(services.domains, domain).tools)
