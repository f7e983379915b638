"""What stands around every request of the cabinet, before any page."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

HEALTH_PATH = "/healthz"

Handler = Callable[[HttpRequest], HttpResponse]


def health(get_response: Handler) -> Handler:
    """Answer health checks first: they come by address, under any Host."""

    def handle(request: HttpRequest) -> HttpResponse:
        if request.path == HEALTH_PATH:
            return HttpResponse("ok\n", content_type="text/plain")
        return get_response(request)

    return handle
