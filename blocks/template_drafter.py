"""Drafts from templates of our own: offline, and the same for the same facts."""

from functools import lru_cache
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from pydantic import JsonValue

from blocks.drafting import Draft, DraftRequest, DraftText, as_json, replay
from blocks.generation import Generation, PromptTemplate, schema_version
from blocks.wire import LocalReply
from policies import canonical
from policies.errors import InvalidInput, Misconfigured
from policies.provenance import LOCAL, Sampling

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

MODEL = "template"
_NO_SAMPLING = Sampling(temperature=None, top_p=None, max_tokens=None, seed=None)


class TemplateDrafter:
    """Fills `<folder>/<task>/<field>.jinja`, one file per field of the draft.

    A template sees `facts`, and in a revision also `draft` (the earlier fields) and
    `problems`. Only the template is ever rendered: what the facts hold stays text.
    """

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder

    def draft(self, request: DraftRequest) -> Draft:
        """See `DraftingModel`; no confidence is claimed."""
        return self._filled(request, {}, ())

    def revise(
        self, request: DraftRequest, draft: DraftText, problems: tuple[str, ...]
    ) -> Draft:
        """See `DraftingModel`; it differs from a draft only as its templates do."""
        return self._filled(request, draft.fields, problems)

    def _filled(
        self, request: DraftRequest, draft: dict[str, str], problems: tuple[str, ...]
    ) -> Draft:
        given: dict[str, JsonValue] = {
            "facts": request.facts,
            "draft": {**draft},
            "problems": [*problems],
        }
        sources = {
            name: self._source(request.task, name) for name in request.output_names
        }
        fields = {
            name: self._rendered(f"{request.task}/{name}", source, given)
            for name, source in sources.items()
        }
        return replay(
            _generation(request, as_json({**sources}), as_json(given), fields)
        )

    def _source(self, task: str, name: str) -> str:
        file = self._folder / task / f"{name}.jinja"
        try:
            return file.read_text("utf-8")
        except FileNotFoundError:
            raise Misconfigured(
                f"There is no template for the field {name} of {task}.",
                hint=f"Add {task}/{name}.jinja to the templates.",
            ) from None

    def _rendered(self, name: str, source: str, given: dict[str, JsonValue]) -> str:
        from jinja2 import TemplateError, UndefinedError

        try:
            return _compiled(source).render(given)
        except UndefinedError as exc:
            raise InvalidInput(
                f"A fact is missing that the template {name} needs: {exc.message}.",
                code="fact_missing",
                hint="Add the fact, or let the template do without it.",
            ) from exc
        except TemplateError as exc:
            raise Misconfigured(
                f"The template {name} cannot be rendered: {exc.message}.",
                hint="Mend the template.",
            ) from exc


@lru_cache(maxsize=64)
def _compiled(source: str) -> "Template":
    return _environment().from_string(source)


@lru_cache(maxsize=1)
def _environment() -> "SandboxedEnvironment":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Not escaped: the drafts are plain text, and escaping is up to what shows them.
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _generation(
    request: DraftRequest, templates: str, given: str, fields: dict[str, str]
) -> Generation:
    version = _digest(templates)
    content = _digest(version + as_json({**fields}))
    response_id = f"template-{content.removeprefix('sha256:')}"
    reply = LocalReply(id=response_id, model=version, fields={**fields})
    return Generation(
        provider="template",
        route=LOCAL,
        model=MODEL,
        model_version=version,
        prompt=PromptTemplate(source=templates, version=version),
        system_text=templates,
        user_text=given,
        sampling=_NO_SAMPLING,
        schema_versions={request.task: schema_version(request.answer_schema)},
        outputs=request.output_names,
        response=reply.model_dump_json(exclude_none=True).encode(),
        response_id=response_id,
        finish_reason=reply.finished_by,
        usage=None,
    )


def _digest(text: str) -> str:
    return canonical.digest("artifact", text.encode())
