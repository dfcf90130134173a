"""One answer of a model, with everything that it was made from."""

from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

from pydantic import JsonValue

from blocks.artifacts import ArtifactStore, Kind
from policies import canonical
from policies.provenance import (
    Provenance,
    Route,
    Sampling,
    Stored,
    Text,
    TokenUsage,
)
from policies.value import Value

Provider: TypeAlias = Literal["template", "openai", "anthropic"]
"""Who answers, or for a model behind HTTP which protocol its endpoint speaks."""


class PromptTemplate(Value):
    """What the inputs were assembled from: its text, and its version."""

    source: Text
    version: Text


class Generation(Value):
    """A model's answer as it was received, and what was asked, as it was sent."""

    provider: Provider
    route: Route
    model: Text
    model_version: Text
    """Which model answered, in the endpoint's own words."""
    prompt: PromptTemplate
    system_text: Text
    user_text: Text
    sampling: Sampling
    schema_versions: dict[str, Text]
    outputs: tuple[Text, ...]
    """The fields that were asked for."""
    response: bytes
    """The body of the HTTP response, or the document that a local drafter made."""
    response_id: Text
    finish_reason: Text
    usage: TokenUsage | None


def provenance_of(
    generation: Generation,
    store: ArtifactStore,
    *,
    tool_versions: Mapping[str, str],
    schema_versions: Mapping[str, str],
    retrieval_refs: tuple[str, ...],
) -> Provenance:
    """Store inputs and answer, and tell where they lie and how the answer was made.

    `schema_versions` are those of the inputs; the answer's own is added to them.
    """
    asked = generation.prompt
    return Provenance(
        provider=generation.provider,
        route=generation.route,
        model=generation.model,
        model_version=generation.model_version,
        system_input=_text(store, generation.system_text),
        user_input=_text(store, generation.user_text),
        sampling=generation.sampling,
        prompt_template=_text(store, asked.source),
        prompt_template_version=asked.version,
        tool_versions=dict(tool_versions),
        schema_versions={**schema_versions, **generation.schema_versions},
        retrieval_refs=retrieval_refs,
        outputs=generation.outputs,
        response=_kept(store, generation.response, "response", "application/json"),
        response_id=generation.response_id,
        finish_reason=generation.finish_reason,
        usage=generation.usage,
    )


def restore(provenance: Provenance, store: ArtifactStore) -> Generation:
    """The generation that a provenance tells of, with the stored bytes, verified."""
    prompt = PromptTemplate(
        source=store.get(provenance.prompt_template.ref).decode(),
        version=provenance.prompt_template_version,
    )
    return Generation(
        provider=cast(Provider, provenance.provider),
        route=provenance.route,
        model=provenance.model,
        model_version=provenance.model_version,
        prompt=prompt,
        system_text=store.get(provenance.system_input.ref).decode(),
        user_text=store.get(provenance.user_input.ref).decode(),
        sampling=provenance.sampling,
        schema_versions=provenance.schema_versions,
        outputs=provenance.outputs,
        response=store.get(provenance.response.ref),
        response_id=provenance.response_id,
        finish_reason=provenance.finish_reason,
        usage=provenance.usage,
    )


def schema_version(schema: dict[str, JsonValue]) -> str:
    """A digest that changes with the JSON schema."""
    return canonical.digest("artifact", canonical.canonical_bytes(schema))


def _text(store: ArtifactStore, text: str) -> Stored:
    return _kept(store, text.encode(), "prompt", "text/plain")


def _kept(store: ArtifactStore, data: bytes, kind: Kind, media_type: str) -> Stored:
    artifact = store.put(data, kind, media_type)
    return Stored(ref=artifact.ref, digest=artifact.digest)
