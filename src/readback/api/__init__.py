"""The data plane: the API itself. Never imports Django."""
