"""Agent steps and tools, each a thin Prefect task over policies and blocks."""
