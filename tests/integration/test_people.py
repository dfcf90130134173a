"""Who somebody is: tokens, one-time codes, and what happens to wrong ones."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyotp
import pytest

from blocks.ledger import people
from blocks.ledger.columns import Base
from blocks.ledger.people import CodeProof, Proof, TokenProof
from blocks.vault import Vault
from policies.access import Denied, Reviewer
from policies.errors import Conflict, InvalidInput, Misconfigured, NotFound
from tests import forging
from tests.installed import VAULT
from tests.reading import names
from tests.together import together, until_blocked
from tests.world import World

DENIED = ("wrong_proof", "locked_out")


def prove(
    world: World, proof: Proof, reviewer: str = "ada", vault: Vault = VAULT
) -> Reviewer | Denied:
    with world.ledger.write() as tx:
        return people.prove(tx, vault, reviewer, proof)


def code(world: World, steps: int = 0) -> CodeProof:
    return CodeProof(code=world.code("ada", steps))


def wrong(world: World) -> CodeProof:
    """A code that is none of those which ada's authenticator shows around now."""
    near = {world.code("ada", steps) for steps in range(-3, 4)}
    return CodeProof(
        code=next(c for c in map(str, range(100_000, 999_999)) if c not in near)
    )


def answer(outcome: Reviewer | Denied) -> str:
    return outcome.code if isinstance(outcome, Denied) else outcome.id


def re_encrypt(world: World, new: Vault) -> int:
    with world.ledger.write() as tx:
        return people.re_encrypt(tx, VAULT, new, "ada")


def test_a_token_proves_its_owner_and_nobody_else(world: World) -> None:
    """E2"""
    token = TokenProof(token=world.people["ada"].token)
    assert answer(prove(world, token)) == "ada"
    assert answer(prove(world, token, "bob")) == "wrong_proof"
    assert answer(prove(world, TokenProof(token=""))) == "wrong_proof"


def test_a_code_works_once(world: World) -> None:
    """Q5"""
    shown = code(world)
    assert answer(prove(world, shown)) == "ada"
    assert answer(prove(world, shown)) == "wrong_proof"
    world.clock.move(people.STEP_SECONDS)
    assert answer(prove(world, code(world))) == "ada"


def test_a_code_that_is_typed_with_spaces_is_read(world: World) -> None:
    shown = world.code("ada")
    typed = CodeProof(code=f" {shown[:3]} {shown[3:]} ")
    assert answer(prove(world, typed)) == "ada"


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_a_clock_may_be_off_by_one_step(world: World, steps: int) -> None:
    """Q5"""
    assert answer(prove(world, code(world, steps))) == "ada"


@pytest.mark.parametrize("steps", [-2, 2])
def test_a_code_from_further_away_is_refused(world: World, steps: int) -> None:
    """Q5"""
    assert answer(prove(world, code(world, steps))) == "wrong_proof"


def test_what_is_no_code_is_a_wrong_proof_and_no_error(world: World) -> None:
    """I3"""
    fullwidth = "".join(chr(0xFF10 + digit) for digit in range(6))
    for typed in ("", "12345", "abcdef", fullwidth, "\ud800", "\x00", "9" * 5000):
        world.clock.move(15 * 60)
        assert answer(prove(world, CodeProof(code=typed))) in DENIED


def test_five_wrong_codes_lock_the_reviewer_for_a_quarter_of_an_hour(
    world: World,
) -> None:
    """Q5"""
    said = [answer(prove(world, wrong(world))) for _ in range(5)]
    assert said == ["wrong_proof"] * 4 + ["locked_out"]
    world.clock.move(15 * 60 - 1)
    assert answer(prove(world, code(world))) == "locked_out"
    world.clock.move(2)
    assert answer(prove(world, code(world))) == "ada"


def test_a_right_code_forgives_the_wrong_ones_before(world: World) -> None:
    for _ in range(3):
        said = [answer(prove(world, wrong(world))) for _ in range(4)]
        assert said == ["wrong_proof"] * 4
        assert answer(prove(world, code(world))) == "ada"
        world.clock.move(people.STEP_SECONDS)


def test_who_waits_while_the_fifth_wrong_code_is_counted_is_locked_too(
    world: World,
) -> None:
    """Q5"""
    for _ in range(4):
        prove(world, wrong(world))
    shown, last = code(world), wrong(world)
    with ThreadPoolExecutor(1) as pool:
        with world.ledger.write() as tx:
            assert answer(people.prove(tx, VAULT, "ada", last)) == "locked_out"
            waiting = pool.submit(prove, world, shown)
            until_blocked(world.ledger, waiting)
        assert answer(waiting.result(10)) == "locked_out"


def test_a_lock_is_for_codes_and_for_one_reviewer(world: World) -> None:
    for _ in range(5):
        prove(world, wrong(world))
    token = TokenProof(token=world.people["ada"].token)
    assert answer(prove(world, token)) == "ada"
    bobs = CodeProof(code=world.code("bob"))
    assert answer(prove(world, bobs, "bob")) == "bob"


def test_the_lock_is_shown_with_its_end(world: World) -> None:
    for _ in range(5):
        refused = prove(world, wrong(world))
    assert isinstance(refused, Denied) and "15 minutes" in refused.message
    refused = prove(world, code(world))
    assert isinstance(refused, Denied) and "05:21" in refused.message


def test_an_unknown_reviewer_is_answered_like_a_wrong_proof(world: World) -> None:
    """E4"""
    for proof in (wrong(world), TokenProof(token="guess")):
        assert prove(world, proof, "nobody") == prove(world, proof, "ada")


def test_what_is_no_reviewer_or_token_is_a_wrong_proof_and_no_error(
    world: World,
) -> None:
    """I3"""
    for typed in ("", "ada\x00", "\ud800", "a" * 100_000, "ada ", "Ada"):
        own = TokenProof(token=world.people["ada"].token)
        assert answer(prove(world, own, typed)) == "wrong_proof"
        assert answer(prove(world, TokenProof(token=typed))) == "wrong_proof"


def test_a_revoked_reviewer_proves_nothing_any_more(world: World) -> None:
    """Q4"""
    with world.ledger.write() as tx:
        people.revoke(tx, reviewer="ada", actor="bob")
    for proof in (TokenProof(token=world.people["ada"].token), code(world)):
        assert answer(prove(world, proof)) == "revoked"
    with pytest.raises(Conflict, match="already"), world.ledger.write() as tx:
        people.revoke(tx, reviewer="ada", actor="bob")


def test_rotating_makes_the_old_token_and_seed_worthless(world: World) -> None:
    old_token, old_code = TokenProof(token=world.people["ada"].token), code(world)
    with world.ledger.write() as tx:
        told = people.rotate(tx, VAULT, reviewer="ada", actor="bob")
    assert answer(prove(world, old_token)) == "wrong_proof"
    assert answer(prove(world, old_code)) == "wrong_proof"
    assert answer(prove(world, TokenProof(token=told.token))) == "ada"
    fresh = pyotp.TOTP(told.seed).at(world.clock.now)
    assert answer(prove(world, CodeProof(code=fresh))) == "ada"


def test_rotating_ends_a_lock(world: World) -> None:
    for _ in range(5):
        prove(world, wrong(world))
    with world.ledger.write() as tx:
        told = people.rotate(tx, VAULT, reviewer="ada", actor="bob")
    fresh = pyotp.TOTP(told.seed).at(world.clock.now)
    assert answer(prove(world, CodeProof(code=fresh))) == "ada"


def test_another_secret_key_is_told_as_that(world: World) -> None:
    with pytest.raises(Misconfigured, match="PLACET_SECRET_KEY is not the key"):
        prove(world, code(world), vault=Vault("another key of the same length"))
    with pytest.raises(Misconfigured, match="PLACET_SECRET_KEY is not set"):
        prove(world, code(world), vault=Vault(None))


def test_codes_work_on_after_the_secret_key_was_changed(world: World) -> None:
    new = Vault("a new key that is long enough")
    with world.ledger.write() as tx:
        assert people.re_encrypt(tx, VAULT, new, "ada") == 2
    assert answer(prove(world, code(world), vault=new)) == "ada"
    with pytest.raises(Misconfigured):
        prove(world, code(world), vault=VAULT)


def test_a_reviewer_who_logs_in_while_the_key_is_changed_is_let_in(
    world: World,
) -> None:
    """Q5: every seed is sealed by one key or the other, and none is lost."""
    new = Vault("a new key that is long enough")
    shown = code(world)
    with ThreadPoolExecutor(1) as pool:
        with world.ledger.write() as tx:
            people.re_encrypt(tx, VAULT, new, "ada")
            waiting = pool.submit(prove, world, shown, vault=new)
            until_blocked(world.ledger, waiting)
        assert answer(waiting.result(10)) == "ada"


def test_new_secrets_that_are_made_while_the_key_is_changed_stay_the_new_ones(
    world: World,
) -> None:
    """Q5"""
    new = Vault("a new key that is long enough")
    with ThreadPoolExecutor(1) as pool:
        with world.ledger.write() as tx:
            told = people.rotate(tx, VAULT, reviewer="ada", actor="bob")
            waiting = pool.submit(re_encrypt, world, new)
            until_blocked(world.ledger, waiting)
        assert waiting.result(10) == 2
    fresh = pyotp.TOTP(told.seed).at(world.clock.now)
    assert answer(prove(world, CodeProof(code=fresh), vault=new)) == "ada"


def test_new_secrets_are_never_sealed_with_a_key_that_was_just_given_up(
    world: World,
) -> None:
    """Q5"""
    new = Vault("a new key that is long enough")

    def rotate() -> None:
        with world.ledger.write() as tx:
            people.rotate(tx, VAULT, reviewer="ada", actor="bob")

    with ThreadPoolExecutor(1) as pool:
        with world.ledger.write() as tx:
            people.re_encrypt(tx, VAULT, new, "ada")
            waiting = pool.submit(rotate)
            until_blocked(world.ledger, waiting)
        with pytest.raises(Misconfigured):
            waiting.result(10)
    assert answer(prove(world, code(world), vault=new)) == "ada"


def test_whoever_is_added_while_the_key_is_changed_has_a_seed_of_the_new_one(
    world: World,
) -> None:
    """Q5"""
    new = Vault("a new key that is long enough")
    with ThreadPoolExecutor(1) as pool:
        with world.ledger.write() as tx:
            people.add(
                tx,
                VAULT,
                reviewer="cal",
                tenant="main",
                role="reviewer",
                permissions=(),
                actor="bob",
            )
            waiting = pool.submit(re_encrypt, world, new)
            until_blocked(world.ledger, waiting)
        assert waiting.result(10) == 3


def test_neither_tokens_nor_seeds_stand_in_the_database(
    world: World, dialect: str, tmp_path: Path
) -> None:
    """E15"""
    told = [s for p in world.people.values() for s in (p.token, p.seed)]
    kept = repr([forging.rows(world.ledger, table) for table in Base.metadata.tables])
    assert [secret for secret in told if secret in kept] == []
    if dialect == "sqlite":
        data = b"".join(path.read_bytes() for path in tmp_path.glob("placet.db*"))
        assert [secret for secret in told if secret.encode() in data] == []


def test_a_code_in_two_hands_at_once_counts_once(world: World) -> None:
    """Q5"""
    shown = code(world)
    said = together(4, lambda _: answer(prove(world, shown)))
    assert sorted(map(str, said)) == ["ada", *["wrong_proof"] * 3]


def test_a_code_is_not_used_up_by_a_transaction_that_failed(world: World) -> None:
    """Q5"""
    shown = code(world)
    with pytest.raises(ZeroDivisionError), world.ledger.write() as tx:
        assert answer(people.prove(tx, VAULT, "ada", shown)) == "ada"
        raise ZeroDivisionError
    assert answer(prove(world, shown)) == "ada"


def test_the_first_reviewer_of_a_ledger_is_an_admin(world: World) -> None:
    with world.ledger.read() as tx:
        everybody = people.everybody(tx)
    assert [(r.id, r.admin) for r in everybody] == [("ada", True), ("bob", False)]


def test_a_reviewer_is_made_once_under_a_plain_name(world: World) -> None:
    with pytest.raises(Conflict) as refused:
        world.add("ada")
    assert refused.value.code == "already_exists"
    for name in ("", "a b", "ada\n", "\u00e4da", "-", "a\x00"):
        with pytest.raises(InvalidInput):
            world.add(name)
    with pytest.raises(NotFound), world.ledger.read() as tx:
        people.load(tx, "nobody")
    assert names(world.trail("admin")) == ["reviewer_added"] * 2
