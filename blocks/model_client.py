"""Language models behind OpenAI-compatible and Anthropic endpoints."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from blocks import wire
from blocks.drafting import Draft, DraftRequest, DraftText, as_json, replay
from blocks.endpoint import Endpoint, Question
from blocks.generation import Generation, PromptTemplate, schema_version
from policies.errors import Misconfigured, PlacetError, Unavailable

if TYPE_CHECKING:
    from blocks.model_http import Tape

_REVISION = """\
{user}

This was your earlier draft:
{draft}

It cannot be used, because of this:
{problems}

Write it again without these problems.
"""
_REVISION_VERSION = "revision-1"


class ApiDrafter:
    """Drafts with a language model; every draft is one HTTP request."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def draft(self, request: DraftRequest) -> Draft:
        """See `DraftingModel`."""
        return self._ask(request, request.user, request.prompt)

    def revise(
        self, request: DraftRequest, draft: DraftText, problems: tuple[str, ...]
    ) -> Draft:
        """See `DraftingModel`."""
        user = _REVISION.format(
            user=request.user,
            draft=as_json(dict(draft.fields)),
            problems="\n".join(f"- {problem}" for problem in problems),
        )
        prompt = PromptTemplate(
            source=f"{request.prompt.source}\n{_REVISION}",
            version=f"{request.prompt.version}+{_REVISION_VERSION}",
        )
        return self._ask(request, user, prompt)

    def _ask(self, request: DraftRequest, user: str, prompt: PromptTemplate) -> Draft:
        question = Question(
            task=request.task,
            prompt=prompt,
            system=request.system,
            user=user,
            outputs=request.output_names,
            answer_schema=request.answer_schema,
        )
        return replay(ask(self._endpoint, question))


def ask(endpoint: Endpoint, question: Question) -> Generation:
    """Ask once and record the answer, whatever it is, with what was really sent.

    Raises Unavailable (`model_unavailable`) where no answer came, InvalidInput
    (`model_answer_invalid`) where it is no complete answer of the protocol, and
    Misconfigured where the extra `models` is not installed.
    """
    request, response = _exchanged(endpoint, question)
    sent = wire.read_request(request)
    answer = wire.read_answer(endpoint.provider, response)
    return Generation(
        provider=endpoint.provider,
        route=endpoint.route,
        model=endpoint.model,
        model_version=answer.model_version,
        prompt=question.prompt,
        system_text=sent.system,
        user_text=sent.user,
        sampling=sent.sampling,
        schema_versions={question.task: schema_version(question.answer_schema)},
        outputs=question.outputs,
        response=response,
        response_id=answer.response_id,
        finish_reason=answer.finish_reason,
        usage=answer.usage,
    )


def _exchanged(endpoint: Endpoint, question: Question) -> tuple[bytes, bytes]:
    try:
        from blocks import model_http
    except ImportError as exc:
        raise Misconfigured(
            "What talks to language models is not installed.",
            hint="In the project's folder: .venv/bin/uv pip install --python .venv "
            "--editable '.[models]'",
        ) from exc
    tape = model_http.Tape()
    # In a thread of its own, since the caller's may have an event loop running.
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = model_http.exchange(endpoint, question, tape)
        failure = pool.submit(asyncio.run, asked).exception()
    if tape.status == 200 and tape.request and tape.response is not None:
        return tape.request, tape.response
    if tape.request is None and not isinstance(failure, TimeoutError):
        raise Misconfigured(
            f"The model at {endpoint.route} cannot be asked with these settings.",
            hint="Check base_url and model in its block.",
        ) from failure
    # Not raised from the library's error, which may quote the key.
    raise _unavailable(endpoint, tape, failure)


def _unavailable(
    endpoint: Endpoint, tape: "Tape", failure: BaseException | None
) -> PlacetError:
    who = f"The model at {endpoint.route}"
    if tape.status is not None and tape.status != 200:
        return _refused(who, tape.status)
    if isinstance(failure, TimeoutError):
        what = f"{who} did not answer within {endpoint.timeout_seconds:g} s."
        hint = "Try again later, or raise timeout_seconds in its block."
    elif tape.status is not None:
        what = f"{who} broke off in the middle of its answer."
        hint = "Try again later."
    else:
        what = f"{who} cannot be reached."
        hint = "Check base_url in its block, and whether the server runs."
    return Unavailable(what, code="model_unavailable", hint=hint)


def _refused(who: str, status: int) -> PlacetError:
    if status in (401, 403):
        what, hint = "does not accept the API key", "Check api_key in its block."
    elif status == 429:
        what, hint = "is asked too often", "Try again later, or raise its quota."
    elif status >= 500:
        what, hint = "has a fault", "Try again later."
    else:
        what, hint = "refuses the request", "Check base_url and model in its block."
    return Unavailable(
        f"{who} {what} (HTTP {status}).",
        code="model_unavailable",
        hint=hint,
        status=status,
    )
