"""The contract: how each request is answered from data in memory."""
