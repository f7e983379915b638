"""Template context for every page: the API's address and where mail goes."""

from functools import partial

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from readback.cabinet import passkeys as passkey_support
from readback.cabinet import selectors


def address(request: HttpRequest) -> dict[str, object]:
    # Lazy, so that templates that do not show the address run no query.
    return {"address": SimpleLazyObject(selectors.address_current)}


def mail(request: HttpRequest) -> dict[str, object]:
    """Add whether e-mails are printed to the terminal, so that pages can say so."""
    return {"mail_is_printed": not settings.CONFIG.smtp_url}


def passkeys(request: HttpRequest) -> dict[str, object]:
    """Add whether passkeys work at this address and, if not, where they do."""
    # Templates call these.
    return {
        "passkeys_work": partial(passkey_support.is_available, request),
        "passkeys_log_in": partial(passkey_support.can_log_in, request),
        "passkeys_at": partial(passkey_support.local_address, request),
    }
