"""What the two models of a workflow are set to, from the environment or a Block.

They are separate because they are separate jobs: one writes, the other steers.
"""

from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, SecretStr

from policies.errors import Misconfigured

if TYPE_CHECKING:
    from blocks.choosing import WorkflowModel
    from blocks.drafting import DraftingModel
    from blocks.endpoint import Endpoint

_PUBLIC = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}


class _ModelSettings(BaseModel):
    """What both models are asked for."""

    kind: str
    model: str | None = Field(
        default=None, description="Name of the model, as its endpoint calls it."
    )
    base_url: str | None = Field(
        default=None, description="Address of the endpoint; empty for the provider's."
    )
    api_key: SecretStr | None = Field(
        default=None, description="Key of the endpoint; empty where it needs none."
    )
    temperature: float | None = Field(
        default=None,
        ge=0,
        description="0 makes answers most alike; empty leaves it to the endpoint.",
    )
    max_tokens: int = Field(
        default=2048, gt=0, description="An answer that needs more is refused."
    )
    timeout_seconds: float = Field(
        default=60, gt=0, description="How long one answer may take."
    )

    def endpoint(self, provider: Literal["openai", "anthropic"]) -> "Endpoint":
        """The plain settings. Raises Misconfigured where one is missing or unfit."""
        from blocks.endpoint import Endpoint
        from policies.provenance import Sampling

        if not self.model:
            raise Misconfigured(
                f"No model is named for the kind {provider}.",
                hint="Set `model` to a name from the provider's own list.",
            )
        return Endpoint(
            provider=provider,
            base_url=self.base_url or _PUBLIC[provider],
            model=self.model,
            api_key=self.api_key or None,
            sampling=Sampling(
                temperature=self.temperature,
                top_p=None,
                max_tokens=self.max_tokens,
                seed=None,
            ),
            timeout_seconds=self.timeout_seconds,
        )


class DraftingSettings(_ModelSettings):
    """What drafts the texts that people approve."""

    kind: Literal["template", "openai", "anthropic"] = Field(
        default="template",
        description="template works offline with the domain's own templates; openai "
        "and anthropic name the protocol that the endpoint speaks.",
    )

    def drafter(self, templates: Traversable) -> "DraftingModel":
        """The plain drafter; `templates` is the domain's folder of templates.

        Raises Misconfigured where a setting is missing or unfit.
        """
        if self.kind == "template":
            from blocks.template_drafter import TemplateDrafter

            return TemplateDrafter(templates)
        from blocks.model_client import ApiDrafter

        return ApiDrafter(self.endpoint(self.kind))


class WorkflowModelSettings(_ModelSettings):
    """What picks the next step among those that policy permits."""

    kind: Literal["openai", "anthropic"] = Field(
        description="The protocol that the endpoint speaks."
    )

    def chooser(self) -> "WorkflowModel":
        """The plain chooser. Raises Misconfigured where a setting is unfit."""
        from blocks.choosing import ApiChooser

        return ApiChooser(self.endpoint(self.kind))
