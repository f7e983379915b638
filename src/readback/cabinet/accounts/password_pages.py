"""The pages that ask for a password: what they cost, and when they have no purpose.

Nothing here hashes a password; `passwords.py` says which ones are accepted.
"""

from urllib.parse import unquote

from django.urls import Resolver404, resolve

# Forms whose answer needs the hash of a password. A test fails if one is missing.
_HASHING = frozenset(
    {
        "account_signup",
        "account_invitation",
        "account_login",
        "account_reauthenticate",
        "account_change_password",
        "account_set_password",
        "account_reset_password_from_key",
        "account_delete",
    }
)


def hashes_password(method: str, path: str) -> bool:
    """Return whether the answer to a request may need the hash of a password."""
    if method in ("GET", "HEAD"):
        return False
    try:
        return resolve(unquote(path)).view_name in _HASHING
    except Resolver404:
        return False
