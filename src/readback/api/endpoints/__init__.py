"""The contract: how each request is answered, without leaving memory."""
