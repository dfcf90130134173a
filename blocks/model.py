"""The two models of a workflow, as Prefect Blocks to edit in the Prefect UI."""

from prefect.blocks.core import Block

from blocks.model_settings import DraftingSettings, WorkflowModelSettings


class DraftingModelBlock(DraftingSettings, Block):
    """What drafts the texts that people approve."""

    _block_type_name = "Placet drafting model"
    _block_type_slug = "placet-drafting-model"
    _description = (
        "What drafts the texts that people approve: templates, or a language model."
    )


class WorkflowModelBlock(WorkflowModelSettings, Block):
    """What picks the next step among those that policy permits."""

    _block_type_name = "Placet workflow model"
    _block_type_slug = "placet-workflow-model"
    _description = (
        "A language model that picks the next step among those that policy permits. "
        "Without this block rules decide."
    )
