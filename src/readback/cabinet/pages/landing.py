"""The landing page, which shows one request and its answer byte by byte."""

from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from readback.contract import CHAT_PATH, MAX_CONTENT_BYTES

# Characters of one, two and three bytes, which a wrong encoding would corrupt.
_MESSAGE = "Ready to copy? Да ✓"


class Character(NamedTuple):
    text: str
    octets: list[str]


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    context = {
        "message": _MESSAGE,
        "characters": [_character(character) for character in _MESSAGE],
        "size": len(_MESSAGE.encode()),
        "path": CHAT_PATH,
        "max_content": MAX_CONTENT_BYTES,
    }
    return render(request, "cabinet/landing.html", context)


def _character(character: str) -> Character:
    octets = [f"{octet:02x}" for octet in character.encode()]
    return Character("␣" if character == " " else character, octets)
