"""From an action to an item that can be judged: payload stored, checked, bound.

`examine` and `prepare` need no transaction; `bind` takes the snapshot inside one.
"""

from difflib import get_close_matches

from pydantic import BaseModel, ValidationError
from sqlalchemy import select

from blocks.artifacts import ArtifactStore, StoredArtifact, describe
from blocks.domain import Domain
from blocks.ledger.database import Transaction
from blocks.ledger.sessions import Session
from blocks.ledger.tables import Artifact
from blocks.ledger.versions import Version
from policies import canonical, idempotency, risk, snapshot
from policies.adapter import Adapter, Target
from policies.errors import Conflict, InvalidInput
from policies.intent import EffectiveIntent, PayloadRef
from policies.policy import Policy
from policies.problems import problems_of
from policies.risk import Risk
from policies.snapshot import EvidenceRef
from policies.tool import ToolSpec
from policies.value import Json, Value


class Prepared(Value):
    """A checked payload, stored or ready to be."""

    tool: ToolSpec
    data: bytes
    artifact: StoredArtifact
    payload_hash: str
    validation_hash: str
    target: Target
    risk: Risk


def prepare(
    artifacts: ArtifactStore,
    adapter: Adapter,
    policy: Policy,
    tool: str,
    payload: BaseModel,
    confidence: float | None,
) -> Prepared:
    """As `examine`, and the payload is stored."""
    prepared = examine(adapter, policy, tool, payload, confidence)
    artifacts.put(prepared.data, "payload")
    return prepared


def examine(
    adapter: Adapter,
    policy: Policy,
    tool: str,
    payload: BaseModel,
    confidence: float | None,
) -> Prepared:
    """A tool's input as canonical bytes, judged; nothing is stored.

    `InvalidInput` (invalid_payload) if the domain's checks find problems: what is not
    valid is never offered for approval.
    """
    spec = adapter.tools[tool]
    data = canonical.canonicalise(payload)
    validation = adapter.validate(tool, payload)
    if not validation.ok:
        raise InvalidInput("; ".join(validation.problems), code="invalid_payload")
    hashed = canonical.payload_hash(data)
    traits = adapter.traits(tool, payload)
    return Prepared(
        tool=spec,
        data=data,
        artifact=describe(data, "payload"),
        payload_hash=hashed,
        validation_hash=validation.hash(hashed),
        target=adapter.target(tool, payload),
        risk=risk.assess(traits, confidence, policy.risk),
    )


def bind(
    tx: Transaction,
    session: Session,
    prepared: Prepared,
    domain: Domain,
    policy: Policy,
    *,
    action: str,
    version: int,
    evidence: tuple[EvidenceRef, ...],
    provenance: str | None,
    made_by: str,
    diff: str | None = None,
) -> Version:
    """Take the snapshot: what a verdict on this version will be bound to.

    `Conflict` (facts_moved) if the resource is no longer as the payload was made from:
    its present version must not vouch for an earlier content.
    """
    record_artifact(tx, prepared.artifact)
    tool = prepared.tool
    resource = prepared.target.resource
    holds = domain.store.precondition(tx, session.tenant, resource)
    if holds != prepared.target.precondition:
        raise Conflict(f"{resource} has changed meanwhile.", code="facts_moved")
    intent = EffectiveIntent(
        tenant=session.tenant,
        principal=session.requested_by,
        permission=tool.permission,
        action=tool.name,
        resource=resource,
        resource_version=domain.store.resource_version(tx, session.tenant, resource),
        precondition=prepared.target.precondition,
        schema_version=tool.schema_version,
        policy_version=policy.gate_version,
    )
    taken = snapshot.take_snapshot(
        tool=tool.name,
        payload=PayloadRef(
            ref=prepared.artifact.ref, version=version, hash=prepared.payload_hash
        ),
        validation_hash=prepared.validation_hash,
        intent=intent,
        evidence=evidence,
        scope=idempotency.scope(session.environment, session.tenant, tool.name),
        key=idempotency.operation_key(session.workflow, action, version),
        term_seconds=policy.terms[prepared.risk.level].approval_term_seconds,
    )
    return Version(
        version=version,
        snapshot=taken,
        validation_hash=prepared.validation_hash,
        risk=prepared.risk,
        provenance=provenance,
        diff=diff,
        made_by=made_by,
    )


def apply_edit(
    tool: ToolSpec, present: dict[str, Json], edit: dict[str, Json]
) -> BaseModel:
    """The tool's input with a reviewer's changes: editable fields only, and valid.

    `InvalidInput` (invalid_edit) says field by field what does not do.
    """
    foreign = sorted(set(edit) - set(tool.editable))
    if foreign:
        raise InvalidInput(
            " ".join(_not_editable(tool, name) for name in foreign),
            code="invalid_edit",
            hint=f"Editable: {', '.join(tool.editable)}.",
        )
    try:
        changed = tool.input_model.model_validate({**present, **edit})
    except ValidationError as error:
        found = "; ".join(problems_of(error, "the input"))
        raise InvalidInput(f"{found}.", code="invalid_edit") from error
    if changed.model_dump(mode="json") == present:
        raise InvalidInput("The edit changes nothing.", code="invalid_edit")
    return changed


def _not_editable(tool: ToolSpec, name: str) -> str:
    if name in tool.input_model.model_fields:
        return f"{name} cannot be edited: that would be another action."
    near = get_close_matches(name, tool.editable, 1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"There is no field {name!r}.{meant}"


def record_artifact(tx: Transaction, artifact: StoredArtifact) -> None:
    """Note a stored artifact in the ledger; the same one once."""
    row = {**artifact.model_dump(), "version": 1, "made_at": tx.now}
    tx.inserted(Artifact, row)


def has_artifacts(tx: Transaction) -> bool:
    """Whether any artifact was ever noted."""
    return tx.run(select(Artifact.ref).limit(1)).first() is not None
