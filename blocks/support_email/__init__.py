"""The support-mail domain's tables and what stands in them."""
