"""A dozen tickets of our own writing, to try Placet on: plain, odd and hostile ones."""

from importlib.resources import files
from typing import cast

from policies import canonical
from policies.value import Json


def load_examples() -> dict[str, Json]:
    """Customers and tickets, as `SupportEmailStore.load_records` takes them."""
    text = (files("blocks.support_email") / "examples.json").read_bytes()
    return cast("dict[str, Json]", canonical.read_json(text))
