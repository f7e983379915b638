"""The API's address for programs: what every page shows to people."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from readback.cabinet import selectors


@require_safe
def address_json(request: HttpRequest) -> JsonResponse:
    answer = JsonResponse(selectors.address_current()._asdict())
    answer["Cache-Control"] = "no-cache"
    # Anybody may compare the address, from any page: it is no secret.
    answer["Access-Control-Allow-Origin"] = "*"
    return answer
