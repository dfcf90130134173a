"""A chaos run: real requests and people, while everything around them dies."""
