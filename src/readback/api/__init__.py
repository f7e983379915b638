"""The API. Never imports Django."""
