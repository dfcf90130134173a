"""What a person may give as a reason or as a reference: bounded, and kept as it is."""

from policies.visible import is_storable

MAX_REASON = 4_000
MAX_REFERENCE = 200


def problem_of(text: str, most: int = MAX_REASON) -> str | None:
    """Why this cannot be recorded as it stands, or None."""
    if len(text) > most:
        return f"is longer than {most} characters"
    if not is_storable(text):
        return "holds what is no text: NUL, or the like"
    return None
