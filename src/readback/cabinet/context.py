"""What every template can say without its view: the API's address, and about mail."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from readback.cabinet import selectors


def address(request: HttpRequest) -> dict[str, object]:
    # Lazy: a fragment or a mail that does not show it asks nothing.
    return {"address": SimpleLazyObject(selectors.address_current)}


def mail(request: HttpRequest) -> dict[str, object]:
    """Whether mails are only printed, so that a page can say where to look."""
    return {"mail_is_printed": not settings.CONFIG.smtp_url}
