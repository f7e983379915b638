"""What the settings say about accounts: addresses, who may sign up, how to log in.

The rules for sign-ups do not affect existing accounts, except that their owners cannot
switch to an address in a forbidden domain. Nothing here queries the database.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from readback.config import Config

# RFC 1035 §2.3.4. The ASCII form of a domain is never shorter than the domain.
_MAX_DOMAIN_LENGTH = 253
# Operators have registered this path with their providers, so it must not change.
CALLBACK_PATH = "accounts/oidc/callback/"


def normalise(email: str) -> str:
    """Return an address in lower case, with the domain in its ASCII form.

    The part before the @ must be ASCII: some other letters (such as the Kelvin sign)
    become ASCII in lower case, so a reset link for one account would go to someone
    else's address. Python implements the older IDNA, which turns straße.de into
    strasse.de, someone else's domain. So a domain that does not survive a round trip is
    refused.
    """
    if not email.rpartition("@")[0].isascii():
        raise ValidationError(_("Enter a valid e-mail address."), "invalid")
    local, at, domain = email.strip().lower().rpartition("@")
    if domain.startswith("["):
        # An IP address such as [127.0.0.1] may be the mail server itself.
        raise ValidationError(_("Use an e-mail address with a domain name."), "invalid")
    if not domain.isascii():
        try:
            # Shortened, because encoding 64 KB would take a second.
            ascii_form = domain[: _MAX_DOMAIN_LENGTH + 1].encode("idna")
            if ascii_form.decode("idna") != domain:
                raise UnicodeError
        except UnicodeError:
            message = _("Write the domain in its ASCII form: xn--….")
            raise ValidationError(message, "invalid") from None
        domain = ascii_form.decode()
    return f"{local}{at}{domain}"


def form_is_open() -> bool:
    return settings.CONFIG.signup.mode in ("open", "domains")


def may_sign_up(email: str) -> bool:
    return form_is_open() and bool(settings.CONFIG.signup.allows_domain(email))


def domains() -> str:
    """Return the allowed domains, or an empty string if all are allowed."""
    return ", ".join(sorted(settings.CONFIG.signup.domains))


def validate_domain(email: str) -> None:
    """Raise `ValidationError` if the domain is not allowed, even for invitations."""
    if not settings.CONFIG.signup.allows_domain(email):
        raise ValidationError(
            _("Use an address from one of these domains: %(domains)s."),
            params={"domains": domains()},
        )


def provider_name() -> str:
    """Return the name of the single sign-on provider, if any, or an empty string."""
    config: Config = settings.CONFIG
    return config.oidc_name if config.oidc_issuer else ""


def provider_is_only_way() -> bool:
    """Return whether passwords, passkeys and sign-ups are refused."""
    return bool(settings.CONFIG.oidc_only)


def providers(config: Config) -> dict[str, Any]:
    if not config.oidc_issuer:
        return {}
    app = {
        # A person's id is stored with the issuer, because someone at another issuer may
        # have the same id.
        "provider_id": config.oidc_issuer,
        "name": config.oidc_name,
        "client_id": config.oidc_client_id,
        "secret": config.oidc_client_secret,
        "settings": {"server_url": config.oidc_issuer, "scope": ["openid", "email"]},
    }
    return {"openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}}
