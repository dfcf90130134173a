"""What a request that is carried here waits for, told while it waits."""

from contextlib import suppress
from typing import Any

from blocks.ledger import items, questions, sessions
from blocks.ledger.items import Item
from blocks.repeating import Repeating
from channels import outcomes, output
from channels.local_server import flow_run_url
from channels.service import Service
from policies import lifecycle
from policies.errors import NotFound, PlacetError
from policies.interaction import Interaction
from policies.state import OPEN_STATUS
from tasks import unsettled

_LOOK_EVERY = 1.0


class LocalWatch(Repeating):
    """Tells on standard error, from a thread, each time something new is asked.

    `api_url` is the Prefect server's, in whose UI the form stands.
    """

    def __init__(self, service: Service, workflow: str, api_url: str) -> None:
        super().__init__(self._try_to_look, _LOOK_EVERY)
        self._service = service
        self._workflow = workflow
        self._api_url = api_url
        self._told = ""

    def _try_to_look(self) -> bool:
        # The run itself tells what is wrong with the ledger.
        with suppress(PlacetError):
            self._look()
        return True

    def _look(self) -> None:
        with self._service.services.ledger.read() as tx:
            try:
                session = sessions.load(tx, self._workflow)
            except NotFound:
                return
            rows = items.of_workflow(tx, self._workflow)
            asked = questions.pending(tx, self._workflow)
        interrupt = session.pending.interrupt if session.pending else self._told
        if interrupt == self._told:
            return
        self._told = interrupt
        output.warn(f"{self._workflow} waits for a person:")
        self._tell_what(tuple(i for i in rows if i.state in lifecycle.OPEN), asked)
        page = self._api_url.removesuffix("/api")
        run = session.flow_run_id or ""
        self._tell(f"or Prefect's form: {flow_run_url(page, run, 'new')}")

    def _tell_what(
        self, rows: tuple[Item, ...], asked: tuple[Interaction, ...]
    ) -> None:
        for item in rows:
            self._tell(f"{item.id}  {item.summary} ({item.risk_level} risk)")
            self._tell(f"  placet review {item.id} --as YOU")
        for question in asked:
            self._tell(f"{question.id}  {question.question}")
            answer = f"placet answer {self._workflow} {question.id} VALUE --as YOU"
            self._tell(f"  {answer}")
        for lost in unsettled.of_workflow(self._service.services, self._workflow):
            outcomes.tell(lost, self._tell)

    def _tell(self, line: str) -> None:
        output.warn(f"  {line}")


def tell_stopped(service: Service, workflow: str) -> None:
    """Where a request is that is no longer carried here, and what to do."""
    status = service.status(workflow)
    word = status["status"]
    waits = [f"{item['item']} ({item['state']})" for item in status["items"]]
    waits += [str(question["id"]) for question in status["questions"]]
    about = f": {', '.join(waits)}" if waits and word in OPEN_STATUS else ""
    output.warn(f"{workflow} is {word}{about}.")
    _tell_what_to_do(status)


def tell_ended(service: Service, workflow: str) -> None:
    """What is left to do when a run has ended here; its last message was told."""
    # What is wrong with the ledger was the run's last message already.
    with suppress(PlacetError):
        if service.status_word(workflow) is not None:
            _tell_what_to_do(service.status(workflow))


def _tell_what_to_do(status: dict[str, Any]) -> None:
    workflow = status["workflow_id"]
    if status["outcomes"] or status["status"] == "failed":
        outcomes.tell_all(status, output.warn)
    if status["status"] in OPEN_STATUS and status["process"] is None:
        output.warn("Nothing is lost. Go on with:")
        output.command(f"placet resume {workflow}", output.warn)
    elif status["status"] == "failed":
        output.warn("Its approval is used up: another attempt is another request.")
        output.warn("What was said and done:")
        output.command(f"placet audit show {workflow}", output.warn)
