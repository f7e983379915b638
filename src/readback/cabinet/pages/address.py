"""The API's current address as JSON, for programs."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from readback.cabinet.keys import selectors


@require_safe
def address_json(request: HttpRequest) -> JsonResponse:
    response = JsonResponse(selectors.address_current()._asdict())
    response["Cache-Control"] = "no-cache"
    # The address is public, so scripts of any site may read it.
    response["Access-Control-Allow-Origin"] = "*"
    return response
