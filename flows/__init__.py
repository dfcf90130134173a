"""Flows: the Workflow Loop and the wait. They order and wait; tasks do the work."""
