"""Real client libraries against a real server."""
