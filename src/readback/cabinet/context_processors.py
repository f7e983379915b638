"""Template context for every page: addresses, mail, and how to get and log in."""

from functools import partial

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from readback.cabinet import account_rules
from readback.cabinet.keys import selectors
from readback.cabinet.second_factor import passkeys as passkey_support


def address(request: HttpRequest) -> dict[str, object]:
    # Lazy, so that templates that do not show the address run no query.
    return {"address": SimpleLazyObject(selectors.address_current)}


def public_url(request: HttpRequest) -> dict[str, object]:
    """Add the cabinet's own address, for links that are used on other sites."""
    return {"cabinet_url": settings.CABINET_URL}


def mail(request: HttpRequest) -> dict[str, object]:
    """Add whether e-mails are printed to the terminal, so that pages can say so."""
    return {"mail_is_printed": not settings.CONFIG.smtp_url}


def sign_up(request: HttpRequest) -> dict[str, object]:
    """Add whether there is a sign-up form, and the only domains that it accepts."""
    return {
        "sign_up_is_open": account_rules.form_is_open()
        and not account_rules.provider_is_only_way(),
        "sign_up_domains": account_rules.domains(),
    }


def passkeys(request: HttpRequest) -> dict[str, object]:
    """Add whether passkeys work at this address and, if not, where they do."""
    # Templates call these.
    return {
        "passkeys_work": partial(passkey_support.is_available, request),
        "passkeys_log_in": partial(passkey_support.can_log_in, request),
        "passkeys_at": partial(passkey_support.local_address, request),
    }


def single_sign_on(request: HttpRequest) -> dict[str, object]:
    """Add the provider with which people can log in; None if there is none."""
    return {"single_sign_on": account_rules.offered_provider()}
