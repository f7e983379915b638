"""Keys that are wrong."""


def mistyped(key: str) -> str:
    """Change the last character, so that the checksum no longer matches."""
    return key[:-1] + ("a" if key[-1] != "a" else "b")
