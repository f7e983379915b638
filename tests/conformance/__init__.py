"""The service's contract, tested from outside.

These tests run against any address that claims to implement it:

    python -m pytest tests/conformance --base-url https://host/v1 --api-key sk-…

Without --base-url they start their own server. Every model id, limit and code is
repeated here on purpose instead of being imported from the readback package: if the
product and these tests disagree, one of them has changed the contract.

Three parts of the contract cannot be checked from outside and are tested elsewhere:
`unavailable` (the database cannot be reached), `internal_error` (an error on our side)
and what the journal keeps.
"""
