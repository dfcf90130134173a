"""Opening a request's session and taking its lease."""

import importlib
import os
import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from pydantic import ValidationError

from blocks.domain import Domain, domain_of
from blocks.lease import LeaseKeeper
from blocks.ledger import openings, rules, sessions
from blocks.ledger.database import Transaction
from blocks.ledger.openings import Opening
from blocks.ledger.sessions import Session
from blocks.recovery import Point, reach
from policies import canonical, retention
from policies.adapter import BaseRequest
from policies.errors import InvalidInput, Misconfigured
from policies.problems import problems_of
from policies.value import Json
from tasks import work as working
from tasks.domains import DOMAINS, find_domain
from tasks.services import Services
from tasks.work import Work

MAX_REQUEST_BYTES = 256 * 1024
"""A request names things; what is larger belongs into the domain's tables."""


def read_request(
    domain: str, request: object, domains: Mapping[str, Domain] = DOMAINS
) -> BaseRequest:
    """A request as its domain's model; `InvalidInput` says field by field what is off.

    The request is measured and normalised first: what cannot be written canonically
    cannot be compared with a later request of the same id.
    """
    adapter = find_domain(domain, domains).adapter
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
    read = read_request(domain, request, services.domains)
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
        session = openings.open_or_get(tx, opening)
    reach(Point.SESSION_OPENED)
    return session


def check_services(services: Services, domain: str) -> None:
    """`Misconfigured` if this process could not carry a request to its end."""
    services.vault.check()
    retention_of(services)
    for name in find_domain(domain, services.domains).needs:
        getattr(services, name)


def retention_of(services: Services) -> timedelta:
    """For how long finished claims are kept, or `Misconfigured` if that is unsafe."""
    kept = timedelta(days=services.settings.keep_claims_days)
    with services.ledger.read() as tx:
        needed = retention.shortest(rules.in_force(tx))
    if kept >= needed:
        return kept
    raise Misconfigured(
        f"PLACET_KEEP_CLAIMS_DAYS is {kept / timedelta(days=1):g}: a key could be "
        "forgotten while a retry or a replay may still come with it.",
        hint=f"By the policy in force it must be {needed / timedelta(days=1):.3g} or "
        "more.",
    )


def check_request_id(request_id: str) -> str:
    """A request id as given, or `InvalidInput`."""
    if not request_id.strip() or len(request_id) > 200 or not request_id.isprintable():
        raise InvalidInput(
            "A request id is 1 to 200 printable characters.", code="invalid_request_id"
        )
    return request_id


def take_lease(
    services: Services,
    workflow: str,
    flow_run_id: str | None,
    *,
    deployed: bool = False,
) -> Work | None:
    """The session under a new lease, or None while another process holds it.

    `deployed` says whether the flow run can be run again by a worker.
    """
    seconds = services.settings.lease_seconds
    with services.ledger.write() as tx:
        held = sessions.acquire(
            tx, workflow, owner(), seconds, flow_run_id, deployed=deployed
        )
        work = None if held is None else working.read(tx, held)
    if work is not None:
        reach(Point.LEASE_TAKEN)
    return work


def keep_lease(services: Services, work: Work) -> LeaseKeeper:
    """Renew the session's lease as long as the block lasts."""
    seconds = services.settings.lease_seconds

    def renew(tx: Transaction) -> None:
        sessions.renew(tx, work.workflow, work.held.token, seconds)

    return LeaseKeeper(services.ledger, renew, seconds)


def give_lease_back(services: Services, work: Work) -> None:
    """Let others have the session; whoever waits for a person holds no lease."""
    with services.ledger.write() as tx:
        sessions.release(tx, work.workflow, work.held.token)
    reach(Point.LEASE_RELEASED)


def owner() -> str:
    """Who this process is, for people who look at a lease."""
    return f"{socket.gethostname()}:{os.getpid()}"


def tools_of(services: Services, domain: str) -> Any:
    """The module that runs a domain's tools; imported only by whoever runs them."""
    return importlib.import_module(domain_of(services.domains, domain).tools)
