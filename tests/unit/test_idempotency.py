"""One operation has one key, and no other operation has it."""

from hypothesis import given
from hypothesis import strategies as st

from policies.idempotency import operation_key, scope
from tests.unit.values import texts, unhurried

tricky = texts | st.text(st.sampled_from('",[]\\ :/|-\n0'), max_size=6)
names = st.tuples(tricky, tricky, tricky)
operations = st.tuples(tricky, tricky, st.integers(1, 30))


def test_three_equal_transfers_of_one_plan_have_three_keys() -> None:
    """X1, A13: equal payloads of different actions are different operations."""
    keys = {operation_key("wf-1", action, 1) for action in ("a1", "a2", "a3")}
    assert len(keys) == 3


def test_a_new_version_has_a_new_key_and_a_retry_has_the_old_one() -> None:
    """A4: what was asked again is another operation; a retry is the same one."""
    assert operation_key("wf-1", "a1", 2) != operation_key("wf-1", "a1", 1)
    assert operation_key("wf-1", "a1", 1) == (
        "op-b04eaa7a6c5b7156ecb561cbd993571f95a5425e"
    )


@unhurried
@given(operations, operations)
def test_two_operations_never_share_a_key(
    one: tuple[str, str, int], other: tuple[str, str, int]
) -> None:
    assert (operation_key(*one) == operation_key(*other)) == (one == other)


@unhurried
@given(names, names)
def test_two_scopes_never_share_a_name(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert (scope(*one) == scope(*other)) == (one == other)


def test_no_separator_in_a_name_confuses_two_scopes() -> None:
    assert scope("dev", 'a","b', "c") != scope("dev", "a", 'b","c')
    for separator in ",;:/|- ":
        one = scope(f"dev{separator}a", "b", "c")
        assert one != scope("dev", f"a{separator}b", "c")


def test_every_tenant_and_environment_has_keys_of_its_own() -> None:
    """S2: the same operation of another tenant or environment is another one."""
    scopes = {
        scope(env, tenant, "t") for env in ("dev", "prod") for tenant in ("a", "b")
    }
    assert len(scopes) == 4
