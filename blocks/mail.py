"""The mail server, as a Prefect Block that people edit in the Prefect UI."""

from prefect.blocks.core import Block

from blocks.mail_settings import MailSettings


class MailServer(MailSettings, Block):
    """Where Placet hands over the mails that were approved."""

    _block_type_name = "Placet mail server"
    _block_type_slug = "placet-mail-server"
    _description = "The SMTP server to which Placet hands over approved mails."
