"""The ledger: the truth about requests, items, verdicts, claims and their outcomes.

One module per record family. Each function takes an open transaction, asks policies,
writes guarded statements and appends the audit event.
"""
