"""The API as an OpenAPI document, with the addresses of this installation.

The file in docs/ has the default addresses. Tools that import the document do not
remember where they got it, so every link in it must be absolute.
"""

import re
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import iri_to_uri
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe

from readback import config
from readback.cabinet.pages import documents

_IN_FILE = config.read({})


@cache
def _template() -> str:
    return (documents.FOLDER / "openapi.yaml").read_text(encoding="utf-8")


# Caches ask each time whether it is still the same, because the address may change.
@require_safe
@cache_control(no_cache=True)
@conditional_page
def download(request: HttpRequest) -> HttpResponse:
    own = {
        _IN_FILE.base_url: settings.CONFIG.base_url,
        _IN_FILE.effective_cabinet_url: settings.CABINET_URL,
    }
    # A URI contains no quote, backslash or line break, so it cannot break the YAML.
    # One pass, because an address may contain one of those that are replaced.
    addresses = "|".join(map(re.escape, own))
    text = re.sub(addresses, lambda found: iri_to_uri(own[found[0]]), _template())
    response = HttpResponse(text, "application/yaml")  # RFC 9512; always UTF-8
    # It is public, so browser-based tools of any site may import it.
    response["Access-Control-Allow-Origin"] = "*"
    return response
