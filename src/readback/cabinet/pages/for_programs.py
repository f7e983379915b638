"""What programs read: /llms.txt, and each page of the documentation as Markdown.

The Markdown of a page has the same language, parts and status as the page. Its links
are absolute, because programs may not know which address the text came from.
"""

import re
from functools import cache
from urllib.parse import urljoin

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_safe

from readback import contract, keys
from readback.cabinet.keys import examples
from readback.cabinet.pages import docs

# RFC 7763 §2 requires the charset.
_MARKDOWN = "text/markdown; charset=utf-8"
# Comments and images, which programs do not need.
_UNSEEN = re.compile(r"^(?:\[//\]: # .*|!\[.*\]\(.*\))\n\n?", re.M)
_TARGET = re.compile(r"(?<=\]\()(?!#)[^)\s]+(?=\))")
# A row of a table in the index: a page, and what it is about.
_INDEX_ROW = re.compile(r"^\| (\[.+?\]\(.+?\)) \| (.+) \|$", re.M)


@require_safe
def docs_markdown(request: HttpRequest, name: str) -> HttpResponse:
    if name in docs.MOVED:
        address = docs.path_of(docs.MOVED[name], markdown=True)
        return redirect(address, permanent=True)
    if name not in {docs.INDEX, *docs.names()}:
        raise Http404
    text, language = _markdown(
        name, docs.reader_language(), settings.CONFIG.base_url, settings.CABINET_URL
    )
    response = HttpResponse(text, _MARKDOWN, headers={"Content-Language": language})
    docs.name_alternate(response, docs.path_of(name), "text/html")
    return docs.cached(request, response)


@require_safe
def llms_txt(request: HttpRequest) -> HttpResponse:
    """Return the essentials for programs, in the format of llmstxt.org."""
    base_url = settings.CONFIG.base_url
    [curl] = examples.filled(base_url, docs.YOUR_KEY, ["curl.sh"])
    index, language = _markdown(docs.INDEX, "en", base_url, settings.CABINET_URL)
    context = {
        "contract": contract,
        "key_prefix": keys.PREFIX,
        "curl": curl.text,
        "pages": _INDEX_ROW.findall(index),
    }
    response = render(request, "pages/llms.txt", context, "text/plain; charset=utf-8")
    response["Content-Language"] = language
    return docs.cached(request, response)


@cache
def _markdown(
    name: str, language: str, base_url: str, cabinet_url: str
) -> tuple[str, str]:
    """Return the Markdown of a page, and its language."""
    text, language = docs.source(name, language)
    title, _newline, rest = text.partition("\n")
    with override(language):
        address = f"{_('API address')}: `{base_url}`"
    here = f"{cabinet_url}{docs.path_of(name, markdown=True)}"
    rest = _UNSEEN.sub("", rest)
    rest = _TARGET.sub(
        lambda found: urljoin(here, docs.served_at(found[0], markdown=True)), rest
    )
    for snippet in docs.snippets(name):
        rest += f"\n### {snippet.name}\n\n```\n{snippet.text.rstrip()}\n```\n"
    return f"{title}\n\n{address}\n{rest}", language
