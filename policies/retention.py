"""How long a used key must be known: longer than anything may still come with it."""

from datetime import timedelta

from policies.policy import Policy

LONGEST_WAIT = timedelta(days=8)
"""How long one wait of a run lasts at most, with the day that Prefect is given."""


def shortest(policy: Policy) -> timedelta:
    """The shortest retention that is safe under a policy.

    A retry comes within an approval's term, a replay after as long as a request may
    wait for its verdict, and both after one wait of the run at most.
    """
    longest = max(
        term.decide_within_seconds + term.approval_term_seconds
        for term in policy.terms.values()
    )
    return LONGEST_WAIT + timedelta(seconds=longest)
