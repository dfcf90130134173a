"""An HTTP provider, as a Prefect Block that people edit in the Prefect UI."""

from prefect.blocks.core import Block

from blocks.http_settings import HttpSettings


class HttpProviderBlock(HttpSettings, Block):
    """Where approved operations are sent, and what that server keeps."""

    _block_type_name = "Placet HTTP provider"
    _block_type_slug = "placet-http-provider"
    _description = "The HTTP server that carries out approved operations."
