"""A shell on an installation in which a test has brought requests to some point.

No Prefect server is configured there: what is decided is recorded, and says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tasks.work import Work
from tests.acceptance.command_line import Answer, run_command
from tests.installed import SECRET_KEY
from tests.world import World


class Shell:
    """Runs the command on a world; `env` are the settings that it sees."""

    def __init__(self, world: World) -> None:
        self.world = world
        settings = world.services.settings
        assert settings.mail is not None
        self.env = {
            "PLACET_HOME": str(world.folder),
            "PLACET_DATABASE_URL": settings.database_url,
            "PLACET_SECRET_KEY": SECRET_KEY,
            "PLACET_ENVIRONMENT": settings.environment,
            "PLACET_MAIL__HOST": settings.mail.host,
            "PLACET_MAIL__PORT": str(settings.mail.port),
            "PLACET_MAIL__SECURITY": settings.mail.security,
            "PLACET_MAIL__SENDER": settings.mail.sender,
            "PLACET_MAIL__MESSAGE_ID_DOMAIN": settings.mail.message_id_domain,
        }

    def run(self, *tokens: str, by: str = "") -> Answer:
        """Run a command, as one of the world's people."""
        proof = {"PLACET_TOKEN": self.world.people[by].token} if by else {}
        return run_command(tokens, {**self.env, **proof})

    def said(self, *tokens: str, by: str = "") -> str:
        """What a command that succeeds tells people."""
        answer = self.run(*tokens, by=by)
        assert (answer.code, answer.err) == (0, "")
        return answer.out

    def document(self, *tokens: str, by: str = "") -> Any:
        """What a command that succeeds tells a program."""
        answer = self.run(*tokens, "--json", by=by)
        assert (answer.code, answer.err) == (0, "")
        return answer.document

    def refused(self, *tokens: str, by: str = "") -> tuple[int, str]:
        """The exit code of a command that fails, and the code of its error."""
        answer = self.run(*tokens, "--json", by=by)
        return answer.code, str(answer.document["error"]["code"])

    def write(self, name: str, value: Any) -> str:
        """A JSON file; its path."""
        path = Path(self.world.folder, name)
        path.write_text(json.dumps(value))
        return str(path)

    def seen(self, work: Work) -> tuple[str, ...]:
        """The options that say what was seen of the first item, for `placet decide`."""
        version = self.world.version(work)
        digest = version.snapshot.digest
        return ("--version", str(version.version), "--snapshot", digest)

    def verdict(self, work: Work, word: str, *more: str, by: str = "ada") -> Answer:
        """`placet decide` on a request's first item."""
        item = self.world.item(work).id
        seen = self.seen(work)
        return self.run("decide", item, word, "--as", by, *seen, *more, by=by)
