"""The switch of the language: a cookie for the browser, a column for the mails."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from readback.cabinet import services


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Set the language and go back to the page where it was chosen."""
    answer = set_language(request)
    chosen = answer.cookies.get("language")
    if chosen and request.user.is_authenticated:
        services.account_set_language(request.user, chosen.value)
    return answer
