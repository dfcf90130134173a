"""The support-mail domain's tools, with its templates beside them."""
