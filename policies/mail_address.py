"""What a mail's address, header text and body may be, so that none can grow a header.

Every check returns its value unchanged or raises ValueError with a reason that reads
on after the field's name. Nothing is mended: a person approved these very characters.
Forms are the plain part of RFC 5322, limits those of RFC 5321 section 4.5.3.1.
"""

import re
import unicodedata

ADDRESS_LIMIT = 254  # a path is at most 256 octets, "<" and ">" included
LOCAL_LIMIT = 64
DOMAIN_LIMIT = 255
HEADER_TEXT_LIMIT = 200  # what a person still reads as one line

# RFC 5322 atext but for "%" and "!": by default Postfix reads them as a route to some
# other domain (postconf(5): allow_percent_hack, swap_bangpath), so mail could go
# elsewhere than to the address that was shown.
_ATOM = r"[A-Za-z0-9#$&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)*(?![0-9]+\Z){_LABEL}")

# Control, format (bidirectional and zero-width marks), lone surrogate, line separator,
# paragraph separator: they break lines or show something else than is sent.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Needed to write Persian, Indic scripts and joined emoji.
_JOINERS = frozenset({"\u200c", "\u200d"})
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_address(value: str) -> str:
    """One plain ASCII name@domain: no display name, list, comment, quote or literal."""
    local, at, domain = value.rpartition("@")
    if not at:
        raise ValueError("must be one address of the form name@domain")
    if len(value) > ADDRESS_LIMIT:
        raise ValueError(f"must not be longer than {ADDRESS_LIMIT} characters")
    if len(local) > LOCAL_LIMIT:
        raise ValueError(f"must have at most {LOCAL_LIMIT} characters before its @")
    if not _LOCAL.fullmatch(local):
        raise ValueError(
            "must have only ASCII letters, digits, single dots between them "
            "and #$&'*+/=?^_`{|}~- before its @"
        )
    check_domain(domain)
    return value


def check_domain(value: str) -> str:
    """An ASCII host name as the DNS writes it; no address literal, no final dot."""
    if len(value) > DOMAIN_LIMIT:
        raise ValueError(f"must have a domain of at most {DOMAIN_LIMIT} characters")
    if not _DOMAIN.fullmatch(value):
        raise ValueError("must have a plain ASCII domain name, such as example.com")
    return value


def check_header_text(value: str) -> str:
    """One visible line: no control or invisible character, no blank at either end."""
    for char in value:
        if unicodedata.category(char) in _UNSEEN and char not in _JOINERS:
            raise ValueError(f"must not hold the character {_named(char)}")
    if not value.strip():
        raise ValueError("must not be empty")
    if value != value.strip():
        raise ValueError("must not begin or end with a blank")
    if len(value) > HEADER_TEXT_LIMIT:
        raise ValueError(f"must not be longer than {HEADER_TEXT_LIMIT} characters")
    return value


def check_body(value: str) -> str:
    """Any text with LF line ends; it may be empty, and need not end in a line end."""
    if "\r" in value:
        raise ValueError("must have LF line ends and no CR")
    if lone := _SURROGATE.search(value):
        raise ValueError(f"must not hold the character {_named(lone[0])}")
    return value


def _named(char: str) -> str:
    return f"U+{ord(char):04X} ({unicodedata.name(char, 'no visible character')})"
