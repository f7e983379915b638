"""The contract of the service, told from the outside.

These tests speak to any address that claims to serve it:

    python -m pytest tests/conformance --base-url https://host/v1 --api-key sk-…

Without --base-url they start a server of their own. Every model id, limit and code
is written out here a second time on purpose, and nothing is imported from the
readback package: if the product and these tests disagree, one of them has changed
the contract.

Three rows of the contract cannot be provoked from the outside and are tested
elsewhere: `unavailable` (the database is away), `internal_error` (a fault of ours)
and what the journal keeps.
"""
