"""The form of a paused run, read and sent as Prefect's pages do: through its API."""

from __future__ import annotations

from typing import Any, NamedTuple

import httpx

from tests.acceptance.eventually import eventually


class PatientClient(httpx.Client):
    """A client that asks again while Prefect's SQLite is busy, which it says by 503."""

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """As httpx, but never a 503."""

        def answer() -> httpx.Response | None:
            found = super(PatientClient, self).send(request, **options)
            return None if found.status_code == 503 else found

        return eventually(answer)


class Said(NamedTuple):
    """What Prefect answered to a form: `ACCEPT`, `REJECT` or `ABORT`, and why."""

    status: str
    reason: str


class PrefectRun:
    """One flow run, seen through Prefect's API."""

    def __init__(self, api: httpx.Client, run_id: str) -> None:
        self.id = run_id
        self._api = api

    def state(self) -> str:
        """The name of its state now."""
        return str(self._run()["state"]["name"])

    def state_type(self) -> str:
        """The type of its state now."""
        return str(self._run()["state"]["type"])

    def message(self) -> str:
        """The message of its state now."""
        return str(self._run()["state"]["message"])

    def wait_for(self, *names: str, within: float = 60) -> str:
        """Return once its state has one of these names."""
        return eventually(lambda: self._named(names), within)

    def form(self, within: float = 60) -> Form:
        """The form that it shows now, once it shows one."""
        return eventually(self._form, within)

    def next_form(self, last: Form) -> Form:
        """The form that it shows after another one."""

        def another() -> Form | None:
            found = self._form()
            return None if found is None or found.key == last.key else found

        return eventually(another)

    def resume(self, answer: dict[str, Any]) -> Said:
        """Send a form, or what somebody takes for one."""
        said = self._post("resume", {"run_input": answer})
        return Said(said["status"], str(said["details"].get("reason") or ""))

    def set_state(self, state: str, message: str = "") -> str:
        """Set its state as anybody with the API can; what Prefect says to that."""
        wanted = {"type": state, "message": message}
        said = self._post("set_state", {"state": wanted, "force": True})
        return str(said["status"])

    def stored_answer(self, form: Form) -> dict[str, Any] | None:
        """What was submitted to a form and still lies in Prefect's database."""
        found = self._api.get(f"/flow_runs/{self.id}/input/{form.key}-response")
        return found.json() if found.is_success else None

    def _run(self) -> dict[str, Any]:
        found: dict[str, Any] = self._api.get(f"/flow_runs/{self.id}").json()
        return found

    def _named(self, names: tuple[str, ...]) -> str | None:
        name = self.state()
        return name if name in names else None

    def _form(self) -> Form | None:
        state = self._run()["state"]
        keys = state["state_details"].get("run_input_keyset")
        if state["type"] != "PAUSED" or not keys:
            return None
        schema = self._api.get(f"/flow_runs/{self.id}/input/{keys['schema']}")
        text = self._api.get(f"/flow_runs/{self.id}/input/{keys['description']}")
        if not schema.is_success or not text.is_success:
            return None
        return Form(keys["schema"].removesuffix("-schema"), schema.json(), text.json())

    def _post(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._api.post(f"/flow_runs/{self.id}/{what}", json=body)
        said: dict[str, Any] = answer.raise_for_status().json()
        return said


class Form(NamedTuple):
    """A form as it is stored: its key, its schema, and the packet above it."""

    key: str
    schema: dict[str, Any]
    packet: str

    @property
    def fields(self) -> dict[str, Any]:
        """The fields by name."""
        return dict(self.schema["properties"])

    @property
    def verdicts(self) -> list[str]:
        """The names of the drop-downs, one for each item."""
        return [name for name in self.fields if name.startswith("verdict_")]

    @property
    def questions(self) -> dict[str, str]:
        """The questions by the name of their field."""
        asked = self.fields.items()
        return {n: str(f["title"]) for n, f in asked if n.startswith("answer_")}

    def choose(self, word: str) -> dict[str, str]:
        """The choice that begins so, in every drop-down."""
        return {name: self.choice(name, word) for name in self.verdicts}

    def choice(self, name: str, word: str) -> str:
        """The one value of a drop-down that begins so."""
        values: list[str] = self.fields[name]["enum"]
        return next(value for value in values if value.startswith(word))
