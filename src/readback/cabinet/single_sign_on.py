"""Single sign-on: what the settings say about it, and nothing that needs the provider.

`provider_documents.py` and `openid_connect.py` talk to the provider, `id_token.py`
checks what it says, and `social_adapter.py` decides what a login with it may do. They
are imported at the first login, because their libraries take 14 MB of memory.
"""

from typing import Any, NamedTuple

from django.conf import settings

from readback.config import Config

# The address to register at the provider, so it must stay the same.
CALLBACK_PATH = "accounts/oidc/callback/"
# What a login is for, beside allauth's own values: to prove again who one is.
AGAIN = "again"


class SingleSignOn(NamedTuple):
    """What the pages show."""

    name: str
    is_only_way: bool


def offered() -> SingleSignOn | None:
    """Return what to show, or None if no provider is configured."""
    config: Config = settings.CONFIG
    if not config.oidc_issuer:
        return None
    return SingleSignOn(config.oidc_name, config.oidc_only)


def is_only_way() -> bool:
    """Return whether passwords, passkeys and sign-ups are refused."""
    return bool(settings.CONFIG.oidc_only)


def providers(config: Config) -> dict[str, Any]:
    """Return allauth's setting SOCIALACCOUNT_PROVIDERS."""
    if not config.oidc_issuer:
        return {}
    app = {
        # What a provider calls a person is unique only together with the issuer, so a
        # connection is stored with it: another issuer can never log in as its people.
        "provider_id": config.oidc_issuer,
        "name": config.oidc_name,
        "client_id": config.oidc_client_id,
        "secret": config.oidc_client_secret,
        "settings": {"server_url": config.oidc_issuer},
    }
    return {"openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}}
