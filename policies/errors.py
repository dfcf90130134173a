"""Every error that Placet raises on purpose, as one tree.

PlacetError
├── InvalidInput      what was given cannot be read or is not allowed as it stands
│   └── NotStrictJson   JSON that different readers would understand differently
├── Misconfigured     the installation, not the input, must be mended
├── Unavailable       a server or database does not answer; the hint says more
├── Refused           policy says no: not allowed, stale, expired, frozen
├── NotFound          no such thing, or not for this tenant
├── Conflict          somebody or something was first, or the state forbids it
└── Superseded        a newer holder of the lease or claim has taken over

Ways in map these to exit codes and HTTP statuses in one place (`channels/answers.py`);
`code` is the stable word that other programs read.
"""

from typing import Any


class PlacetError(Exception):
    """Something went wrong in Placet."""

    code = "unexpected"

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        hint: str | None = None,
        **facts: Any,
    ) -> None:
        said = message or (type(self).__doc__ or "").strip()
        # A hint is a sentence of its own; what is quoted before it may be none.
        self.message = f"{said}." if hint and said[-1:].isalnum() else said
        self.hint = hint
        self.facts = facts
        if code is not None:
            self.code = code
        super().__init__(self.message if hint is None else f"{self.message} {hint}")


class InvalidInput(PlacetError):
    """The input is not valid."""

    code = "invalid_input"


class NotStrictJson(InvalidInput):
    """The JSON can be read in more than one way."""

    code = "not_strict_json"


class Misconfigured(PlacetError):
    """The installation is not set up completely."""

    code = "misconfigured"


class Unavailable(PlacetError):
    """A server that is needed does not answer."""

    code = "unavailable"


class Refused(PlacetError):
    """Policy does not allow this."""

    code = "refused"


class NotFound(PlacetError):
    """There is no such thing."""

    code = "not_found"


class Conflict(PlacetError):
    """The present state does not allow this."""

    code = "conflict"


class Superseded(PlacetError):
    """A newer holder has taken over; this one may not write any more."""

    code = "superseded"
