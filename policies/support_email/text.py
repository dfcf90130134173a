"""Reading and checking the domain's texts: placeholders, topics, order numbers."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from policies.adapter import Validation
from policies.mail_address import check_header_text
from policies.visible import has_invisible

# Some ten pages: far beyond any reply, and still read in full before it is approved.
MAX_BODY = 20_000
RULES_VERSION = "support-email-rules-1"
TOPICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "order_status": ("order", "track", "where is", "shipped", "arrive"),
        "delivery_address": ("address", "deliver to", "move", "moved"),
        "refund": ("refund", "money back", "reimburse"),
        "cancellation": ("cancel",),
        "invoice": ("invoice", "bill", "receipt"),
        "account": ("account", "password", "log in", "login", "sign in"),
        "complaint": ("complain", "unhappy", "terrible", "broken", "damaged"),
    }
)
# Of any length, and read in one pass: who writes it may be hostile.
PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_BRACES = re.compile(r"\{\{|\}\}")
# What commits the company: a promise of money or of a right is a legal effect.
_PROMISE = re.compile(
    r"(\b(will|shall|have|has been|are)\b|['\u2019](ll|ve|re)\b)"
    # Within a sentence, over the line ends of wrapped text but not over a blank line.
    r"([^.!?\n]|\n(?!\n)){0,60}"
    r"\b(refund|reimburse|compensat|guarantee|waive|liable|credit(?:ed)?)"
    r"|\b(I|we)\s+(refund|reimburse|compensate|guarantee|waive|credit)\b",
    re.IGNORECASE,
)
# Longer ones are rather the numbers of cards, which must not be repeated.
_ORDER = re.compile(r"\b(?:[A-Z]{2,4}-)?\d{5,15}\b")


_RE = re.compile(r"^(?:(?:re|aw|fwd?)\s*:\s*)+", re.IGNORECASE)


def check_text(subject: str, body: str) -> Validation:
    """The checks of a reply's text; an open placeholder must never reach a customer."""
    problems = _header_problems(subject)
    problems += [
        f"the placeholder {{{{{name}}}}} is not filled" for name in placeholders(body)
    ]
    problems += [
        f"the subject's placeholder {{{{{name}}}}} is not filled"
        for name in placeholders(subject)
    ]
    if _BRACES.search(PLACEHOLDER.sub(" ", body)):
        problems.append("the reply has double braces that are no whole placeholder")
    if len(body) > MAX_BODY:
        problems.append(f"the reply is longer than {MAX_BODY} characters")
    if not body.strip():
        problems.append("the reply has no text")
    return Validation(rules=RULES_VERSION, problems=tuple(problems))


def placeholders(text: str) -> tuple[str, ...]:
    """The names of the open `{{…}}` in a text, each once, in order."""
    return tuple(dict.fromkeys(name.strip() for name in PLACEHOLDER.findall(text)))


def fill(text: str, fills: Mapping[str, str]) -> str:
    """Put what is known in the place of its placeholder; the rest stays open."""
    return PLACEHOLDER.sub(lambda found: fills.get(found[1].strip(), found[0]), text)


def topic_of(text: str) -> str | None:
    """The one topic whose words stand in the text; None if none or several fit."""
    lowered = text.lower()
    fitting = [t for t, words in TOPICS.items() if any(w in lowered for w in words)]
    return fitting[0] if len(fitting) == 1 else None


def order_number(text: str) -> str | None:
    """The one order number in the customer's own words, digits unchanged."""
    found = dict.fromkeys(_ORDER.findall(text))
    return next(iter(found)) if len(found) == 1 else None


def reply_subject(subject: str) -> str:
    """The subject of an answer, without what must not stand in a header."""
    plain = _RE.sub("", " ".join(subject.split()))
    kept = "".join(c for c in plain if c.isprintable() and not has_invisible(c))
    kept = kept[:180].strip()
    return f"Re: {kept}" if kept else "Your message to us"


def promises(text: str) -> bool:
    """Whether the text commits the company to money or to a right."""
    return _PROMISE.search(text) is not None


def _header_problems(subject: str) -> list[str]:
    try:
        check_header_text(subject)
    except ValueError as error:
        return [f"the subject {error}"]
    return []
