"""The language switch: a cookie for the browser, a column for the e-mails."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from readback.cabinet.accounts import services


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Set the language and return to the page where the switch was used."""
    response = set_language(request)
    chosen = response.cookies.get(settings.LANGUAGE_COOKIE_NAME)
    if chosen and request.user.is_authenticated:
        services.account_set_language(request.user, chosen.value)
    return response
