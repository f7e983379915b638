"""The first page: what Readback is, shown as one exchange, byte for byte."""

from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from readback.contract import CHAT_PATH, MAX_CONTENT_BYTES

# Letters of one, two and three bytes: what a broken encoding would spoil.
_MESSAGE = "Ready to copy? Да ✓"


class Letter(NamedTuple):
    text: str
    octets: list[str]


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    context = {
        "message": _MESSAGE,
        "letters": [_letter(character) for character in _MESSAGE],
        "size": len(_MESSAGE.encode()),
        "path": CHAT_PATH,
        "max_content": MAX_CONTENT_BYTES,
    }
    return render(request, "cabinet/landing.html", context)


def _letter(character: str) -> Letter:
    octets = [f"{octet:02x}" for octet in character.encode()]
    return Letter("␣" if character == " " else character, octets)
