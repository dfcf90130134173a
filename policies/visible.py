"""Show text that others wrote so that it can neither hide, reorder nor break out.

Letters of right-to-left scripts still run right to left: a page isolates each text
(`<bdi>`), which no mark in the text itself can undo.
"""

import re
import unicodedata

# Code points a reader cannot see, or that move what is seen. Spelt out, for the
# standard library knows categories but not Default_Ignorable_Code_Point, and changes
# with Python. Source: Unicode 16, UnicodeData and DerivedCoreProperties.
_HIDDEN = re.compile(
    "["
    # Controls but TAB and LF; line and paragraph separators.
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
    # Format characters (Cf): bidirectional controls, joiners, zero widths, tags.
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    # Default ignorable besides: fillers, joiners, variation selectors, reserved.
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff"
    # Blank by their glyph: Braille blank, Khitan filler, null notehead, object.
    "\u2800\U00016fe4\U0001d159\ufffc"
    # Not characters at all: lone surrogates and noncharacters.
    "\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(end - 1)}{chr(end)}" for end in range(0xFFFF, 0x110000, 0x10000))
    # What opens a mark, and its double in CJK fonts: a mark cannot be forged.
    + "\u27e6\u301a]"
)
# What PostgreSQL's text cannot hold, and what UTF-8 cannot spell.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNSAFE_INLINE = re.compile(r"[\n|]|\A | \Z")
_BACKTICKS = re.compile("`+")
COLUMNS = 54
"""What Prefect's older page shows of a code block's line without scrolling."""
_TAB = 8  # a browser's own tab stops
GOES_ON = "↪ "
_MARK_OF_OURS = re.compile("↪")


def make_visible(text: str) -> str:
    """The text with each hidden code point as a mark such as `⟦U+202E⟧`; LF, TAB stay.

    A literal `⟦` becomes a mark too, so that different texts never look the same.
    """
    return _HIDDEN.sub(_mark, text)


def is_storable(text: str) -> bool:
    """Whether every database takes the text as it is: no NUL, no half a character."""
    return _UNSTORABLE.search(text) is None


def has_invisible(text: str) -> bool:
    """Whether `make_visible` would change the text."""
    return _HIDDEN.search(text) is not None


def fenced(text: str) -> str:
    """A Markdown code block of the visible text, which the text cannot end.

    Put it at the left edge, on lines of its own; it ends with a line feed. Lines longer
    than `COLUMNS` go on behind `↪ `, a mark that no text can make itself.
    """
    shown = "\n".join(
        map(_folded, _MARK_OF_OURS.sub(_mark, make_visible(text)).split("\n"))
    )
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}\n{shown}\n{fence}\n"


def inline_code(text: str) -> str:
    """A Markdown code span on one line, safe in a table cell.

    Marks here too: LF; a space at either end, which renderers strip (CommonMark 6.1);
    and `|`, whose escape shows its backslash anywhere but in a table.
    """
    shown = _UNSAFE_INLINE.sub(_mark, make_visible(text))
    fence = "`" * (_longest_run(shown) + 1)
    pad = " " if "`" in (shown[:1], shown[-1:]) else ""
    return fence + (pad + shown + pad or " ") + fence


def columns(text: str) -> int:
    """How many columns a line takes at most, in a font of equal widths."""
    if text.isascii() and "\t" not in text:
        return len(text)
    return sum(map(_width, text))


def _width(char: str) -> int:
    if char == "\t":
        return _TAB
    # Few fonts of equal widths have what our marks stand in; another one is wider.
    is_wide = char in "⟦⟧" or unicodedata.east_asian_width(char) in ("W", "F")
    return 2 if is_wide else 1


def _folded(line: str) -> str:
    """The line in parts that fit, broken behind a space where one is near."""
    parts: list[str] = []
    start = space = width = 0
    for place, char in enumerate(line):
        width += _width(char)
        while width > COLUMNS:
            cut = space or place
            parts.append(line[start:cut])
            start, space = cut, 0
            width = len(GOES_ON) + columns(line[start : place + 1])
        if char == " " and place - start > len(GOES_ON):
            space = place + 1
    return f"\n{GOES_ON}".join((*parts, line[start:]))


def _mark(found: re.Match[str]) -> str:
    return f"⟦U+{ord(found[0]):04X}⟧"


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
