"""What every template can say without its view: the address of the API."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from readback.cabinet import selectors


def address(request: HttpRequest) -> dict[str, object]:
    # Lazy: a fragment or a mail that does not show it asks nothing.
    return {"address": SimpleLazyObject(selectors.address_current)}
