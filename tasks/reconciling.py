"""Finding out what became of an effect whose outcome is not known."""

from blocks.ledger import effects, outbox
from blocks.ledger.claims import Claim
from blocks.recovery import Point, reach
from policies import idempotency
from policies.errors import Conflict
from tasks import effects as acting
from tasks.effects import Effect, External
from tasks.opening import tools_of
from tasks.services import Services
from tasks.work import Work

# It is asked for again later and later, up to once in five minutes.
_LONGEST_WAIT = 300.0


def look_up(services: Services, work: Work, claim: Claim) -> bool:
    """Ask the provider what became of an unknown outcome; whether that is settled.

    That it did not happen is believed only where a late arrival could do no harm (see
    `acting.is_final`), and where nobody has reported that it did.
    """
    effect = effect_of(services, work, claim)
    assert isinstance(effect, External)
    provider = effect.provider(services)
    with services.ledger.read() as tx:
        promised = outbox.find(tx, claim.id)
    if promised is None:
        # Of a version before the outbox: where it went is not known; a person tells.
        return _ask_later(services, claim)
    # Before it is asked: what arrives while it answers is not in the answer.
    asked_at = services.clock()
    finding = provider.look_up(claim.key, promised.envelope)
    final = acting.is_final(provider.promise, claim, asked_at)
    if not (finding.kind == "happened" or (finding.kind == "did not happen" and final)):
        return _ask_later(services, claim)
    found = acting.found(
        services, finding, acting.is_settled(provider.promise, claim, asked_at)
    )
    try:
        with services.ledger.write() as tx:
            settled = effects.reconcile(tx, claim, found)
    except Conflict:
        return _ask_later(services, claim)
    reach(Point.RECONCILED)
    return settled


def effect_of(services: Services, work: Work, claim: Claim) -> Effect:
    """What a claim's tool does, and how."""
    tools = tools_of(services, work.session.domain)
    effect: Effect = tools.EFFECTS[idempotency.tool_of(claim.scope)]
    return effect


def _ask_later(services: Services, claim: Claim) -> bool:
    with services.ledger.write() as tx:
        effects.note_lookup(tx, claim, min(_LONGEST_WAIT, 2.0**claim.lookups))
    return False
