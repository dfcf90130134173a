"""A domain of ten lines, and sessions of every shape, for tests of what comes next."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from hypothesis import strategies as st
from pydantic import BaseModel

from policies.adapter import Adapter, BaseRequest, Target, Validation
from policies.guard import RULES
from policies.interaction import Interaction
from policies.lifecycle import State
from policies.plan import Action, AgentPlan
from policies.state import STEPS, Answered, ItemView, RequestState, View
from policies.support_email.adapter import SupportEmail
from policies.tool import RiskTraits, ToolSpec
from tests.unit.values import view

PLAN = AgentPlan(
    summary="s",
    actions=(Action(id="a1", tool="t", subject="s", rationale="r"),),
)
CODES = [rule.code for rule in RULES]
TOPIC = Interaction(id="topic", type="SELECT", target="t", question="What about?")
OPTIONAL = Interaction(id="o", type="INPUT", target="t", question="?", required=False)


class Small(NamedTuple):
    """A domain that asks and blocks as it is told, and knows nothing else."""

    asks: tuple[Interaction, ...] = ()
    stops: tuple[str, ...] = ()
    remarked: tuple[Interaction, ...] = ()
    proposes: AgentPlan | None = PLAN
    name: str = "small"
    request_model: type[BaseRequest] = BaseRequest
    tools: Mapping[str, ToolSpec] = MappingProxyType({})

    def questions(self, view: View) -> tuple[Interaction, ...]:
        return self.asks

    def remarks(self, view: View) -> tuple[Interaction, ...]:
        return self.remarked

    def blockers(self, view: View) -> tuple[str, ...]:
        return self.stops

    def permitted_work(self, view: View) -> tuple[str, ...]:
        return ()

    def propose(self, view: View) -> AgentPlan | None:
        return self.proposes

    def assemble(self, state: RequestState, action: Action) -> BaseModel:
        return BaseRequest()

    def validate(self, tool: str, payload: BaseModel) -> Validation:
        return Validation(rules="1", problems=())

    def traits(self, tool: str, payload: BaseModel) -> RiskTraits:
        return RiskTraits()

    def target(self, tool: str, payload: BaseModel) -> Target:
        return Target(resource="r", precondition="none")


def item(state: State, held: tuple[str, ...] = (), name: str = "it-1") -> ItemView:
    return ItemView(
        item=name,
        action=name.replace("it", "a"),
        state=state,
        version=1,
        risk_level="low",
        held=held,
    )


item_views = st.builds(
    item,
    st.sampled_from(State),
    st.lists(st.sampled_from(CODES), max_size=2).map(tuple),
    st.sampled_from(["it-1", "it-2", "it-3"]),
)
small_domains = st.builds(
    Small,
    st.lists(st.sampled_from([TOPIC, OPTIONAL]), unique=True).map(tuple),
    st.sampled_from([(), ("no customer",)]),
    st.sampled_from([(), (OPTIONAL,)]),
    st.sampled_from([None, PLAN]),
)
customers = st.sampled_from(
    [
        [],
        [{"id": "c1", "name": "Ada", "email": "ada@example.com"}],
        [{"id": "c2", "name": "Bob", "email": "no address"}],
    ]
)
mail_states = st.fixed_dictionaries(
    {
        "request": st.sampled_from(
            [{"ticket_id": "t1"}, {"ticket_id": "t1", "reply": "acknowledgement"}]
        ),
        "context": st.fixed_dictionaries(
            {
                "ticket": st.fixed_dictionaries(
                    {
                        "id": st.just("t1"),
                        "message": st.sampled_from(["", "Where is my order?", "hm"]),
                        "suggested_reply": st.sampled_from(["", "Dear {{Name}}"]),
                    }
                ),
                "customers": customers,
                "candidates": customers,
            }
        ),
        "proposal": st.none()
        | st.fixed_dictionaries(
            {
                "subject": st.just("Re: x"),
                "body": st.sampled_from(["Dear Ada", "Dear {{Name}}", ""]),
                "checked": st.booleans(),
                "problems": st.sampled_from([[], ["a placeholder is not filled"]]),
                "revisions": st.integers(0, 3),
                "filled": st.just([]),
            }
        ),
        "completed_steps": st.lists(st.sampled_from(STEPS), unique=True).map(tuple),
        "agent_plan": st.sampled_from([None, PLAN, AgentPlan(summary="", actions=())]),
    }
).map(RequestState.model_validate)
answers = st.lists(
    st.builds(
        Answered,
        question=st.sampled_from(["message", "topic", "customer", "order-number"]).map(
            lambda name: TOPIC.model_copy(update={"id": name})
        ),
        answer=st.sampled_from([None, "refund", "c1", "Where is order 12345?"]),
    ),
    max_size=3,
).map(tuple)
item_lists = st.lists(item_views, max_size=3, unique_by=lambda i: i.item).map(tuple)
views = st.builds(view, mail_states, items=item_lists, answers=answers)
adapters: st.SearchStrategy[Adapter] = small_domains | st.just(
    cast(Adapter, SupportEmail())
)
