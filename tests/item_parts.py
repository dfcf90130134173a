"""What the model of an item is made of."""

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Around:
    """What all items share. `address` counts the changes of the customer's row."""

    now: datetime
    address: int = 0
    frozen: bool = False


@dataclass
class ClaimModel:
    """A claim; `arrived` says whether its last send had an effect."""

    token: int
    lease_until: datetime
    session_token: int
    state: str = "claimed"
    arrived: bool = False
    buried: bool = False


@dataclass
class Hand:
    """Who holds a claim, or held it."""

    claim: ClaimModel
    token: int
    session_token: int


@dataclass
class Slot:
    """A wait's slot and the outcome that has it."""

    outcome: tuple[int, int]
    consumed: bool = False
