"""The form that sends a test, on the page of a new key and on the page of a key.

The key is posted with the form: nothing else has it. A page that contains the form
calls `from_post` and includes cabinet/send_test.html.
"""

from dataclasses import dataclass
from http import HTTPStatus

from allauth.core import ratelimit

from readback import keys
from readback.cabinet.keys import send_test
from readback.cabinet.keys.recorded_exchange import TooManyExchanges
from readback.cabinet.keys.send_test import SentTest
from readback.cabinet.models import Key
from readback.cabinet.serving.requests import AccountRequest

_LIMIT = "send_test"


@dataclass(frozen=True)
class SubmittedTest:
    """The content of the form, and what became of it."""

    text: str = send_test.SAMPLE
    max_length: int = send_test.MAX_TEXT_LENGTH
    result: SentTest | None = None
    # Why nothing was sent: "limited" (this account or address), "busy" (this server).
    obstacle: str = ""
    is_other_key: bool = False

    @property
    def status(self) -> int:
        """The status of the page that shows it."""
        return HTTPStatus.TOO_MANY_REQUESTS if self.obstacle else HTTPStatus.OK

    @property
    def is_submitted(self) -> bool:
        return bool(self.result or self.obstacle)


def from_post(request: AccountRequest, key: Key) -> SubmittedTest:
    """Send the test if the request is a submitted form."""
    if request.method != "POST":
        return SubmittedTest()
    # Browsers send every line break in a form as CR LF.
    text = request.POST.get("text", "").replace("\r\n", "\n")
    if not ratelimit.consume(request, action=_LIMIT):
        return SubmittedTest(text, obstacle="limited")
    try:
        result = send_test.run(request.POST.get("key", ""), text)
    except TooManyExchanges:
        return SubmittedTest(text, obstacle="busy")
    return SubmittedTest(text, result=result, is_other_key=not is_key(key, result.key))


def is_key(key: Key, text: str) -> bool:
    """Return whether this is the text of the key."""
    return keys.digest(text.encode("utf-8", "replace")) == bytes(key.digest)
