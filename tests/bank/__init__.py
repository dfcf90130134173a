"""A second domain, for tests: money that is paid out, or moved between accounts.

It goes through the same doors as any domain: an adapter, a store with tables of its
own, and a module of tools. A double execution shows in balances.
"""
