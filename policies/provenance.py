"""Under which conditions a text was generated, and where its inputs and answer lie."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from policies.errors import Misconfigured
from policies.value import Value

LOCAL = "local"
"""The route of what runs inside this process and calls nobody."""

Text = Annotated[str, StringConstraints(min_length=1)]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


def route_of(base_url: str) -> str:
    """Scheme, host, port and path of an http(s) URL: what may be stored and shown.

    User, password, query and fragment can hold secrets and are left out.
    Raises Misconfigured, without showing the URL.
    """
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https"):
        raise Misconfigured(
            "The base URL of a model is not an http or https address.",
            hint="Give one such as https://models.example.com/v1.",
        )
    name = f"[{host}]" if ":" in host else host
    place = name if port is None else f"{name}:{port}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}"


def _without_secrets(route: str) -> str:
    if route != LOCAL and route != route_of(route):
        raise ValueError("a route has no user, password, query or fragment")
    return route


Route = Annotated[str, AfterValidator(_without_secrets)]


class Stored(Value):
    """Where bytes are kept and which ones they are."""

    ref: Text
    digest: Digest


class Sampling(Value):
    """How tokens are picked; None, where said so, leaves it to the endpoint."""

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    top_p: Annotated[float, Field(gt=0, le=1)] | None
    max_tokens: Annotated[int, Field(gt=0)] | None
    seed: int | None


class TokenUsage(Value):
    """What a call consumed, as the endpoint counts it."""

    input_tokens: int
    output_tokens: int


class Provenance(Value):
    """Everything that a generated text was made from and by.

    No field has a default, so that nothing is left out unnoticed. Together with the
    bytes that it refers to it is enough to read the stored answer again.
    """

    provider: Text
    route: Route
    model: Text
    model_version: Text
    system_input: Stored
    user_input: Stored
    sampling: Sampling
    prompt_template: Stored
    prompt_template_version: Text
    tool_versions: dict[str, Text]
    schema_versions: dict[str, Text]
    retrieval_refs: tuple[Text, ...]
    outputs: tuple[Text, ...]
    """The fields that were asked for; nothing else is read from the answer."""
    response: Stored
    response_id: Text
    finish_reason: Text
    usage: TokenUsage | None
    """None where the endpoint does not count."""
