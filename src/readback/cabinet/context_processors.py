"""Template context for every page: the API's address, mail, single sign-on."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from readback.cabinet import selectors
from readback.cabinet import single_sign_on as sso


def address(request: HttpRequest) -> dict[str, object]:
    # Lazy, so that templates that do not show the address run no query.
    return {"address": SimpleLazyObject(selectors.address_current)}


def mail(request: HttpRequest) -> dict[str, object]:
    """Add whether e-mails are printed to the terminal, so that pages can say so."""
    return {"mail_is_printed": not settings.CONFIG.smtp_url}


def single_sign_on(request: HttpRequest) -> dict[str, object]:
    """Add the provider with which people can log in; None if there is none."""
    return {"single_sign_on": sso.offered()}
