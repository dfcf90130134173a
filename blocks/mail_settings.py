"""The mail server for approved mails, from the environment or a Block."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, SecretStr

from blocks.smtp import Security, Smtp
from policies.mail_address import check_address, check_domain


class MailSettings(BaseModel):
    """Where Placet hands over the mails that were approved."""

    host: str = Field(description="Host name or address of the SMTP server.")
    port: int = Field(
        default=587, ge=1, le=65535, description="587 for starttls, 465 for tls."
    )
    security: Security = Field(
        default="starttls",
        description="How the connection is secured. The certificate is verified.",
    )
    username: str | None = Field(
        default=None, description="User to log in as; empty for no log-in."
    )
    password: SecretStr | None = Field(
        default=None, description="Password of that user; never sent without TLS."
    )
    timeout_seconds: float = Field(
        default=60,
        gt=0,
        description="How long one answer of the server may take. Too short a time "
        "leaves sent mails with an unknown outcome.",
    )
    sender: Annotated[str, AfterValidator(check_address)] = Field(
        description="Address that drafts are sent from; part of what is approved."
    )
    message_id_domain: Annotated[str, AfterValidator(check_domain)] = Field(
        description="Domain after the @ in Message-ID, one of your own."
    )

    def smtp(self) -> Smtp:
        """The plain settings that `blocks.smtp.send` takes."""
        return Smtp(
            host=self.host,
            port=self.port,
            security=self.security,
            username=self.username or None,
            password=self.password or None,
            timeout_seconds=self.timeout_seconds,
        )
