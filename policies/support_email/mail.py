"""What the support-mail domain is asked for, and the mails that it may send."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from policies.adapter import BaseRequest, Name
from policies.mail_address import check_address, check_header_text
from policies.support_email.text import MAX_BODY
from policies.tool import RiskTraits, ToolSpec


class Request(BaseRequest):
    """Answer one ticket; `recipients` names customers other than the ticket's own."""

    ticket_id: Name
    reply: Literal["answer", "acknowledgement"] = "answer"
    recipients: tuple[Name, ...] = Field(default=(), max_length=20)


class Mail(BaseModel):
    """The final input of both mail tools. What is not in here is not in the mail."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ticket_id: str
    customer_id: str
    sender: str
    recipient: str
    subject: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=MAX_BODY)

    @field_validator("sender", "recipient")
    @classmethod
    def _address(cls, value: str) -> str:
        return check_address(value)

    @field_validator("subject")
    @classmethod
    def _subject(cls, value: str) -> str:
        return check_header_text(value)

    @field_validator("body")
    @classmethod
    def _lines(cls, value: str) -> str:
        """Line ends are LF: a browser's text area would change CR LF anyway."""
        return value.replace("\r\n", "\n").replace("\r", "\n")


_MAIL_TRAITS = RiskTraits(irreversible=True, personal_data=True, exposure="external")
SEND_REPLY = ToolSpec(
    name="support_email.send_reply",
    title="Send a reply to a customer",
    input_model=Mail,
    schema_version="1",
    permission="support_email.send",
    effect="external",
    traits=_MAIL_TRAITS,
    editable=("subject", "body"),
    multiline=("body",),
)
SEND_ACKNOWLEDGEMENT = ToolSpec(
    name="support_email.send_acknowledgement",
    title="Tell a customer that the ticket has arrived",
    input_model=Mail,
    schema_version="1",
    permission="support_email.send",
    effect="external",
    traits=RiskTraits(irreversible=True, exposure="external"),
    editable=("subject", "body"),
    multiline=("body",),
)
