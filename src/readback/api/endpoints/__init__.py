"""The contract: how each request is answered, from what is in memory."""
