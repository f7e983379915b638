"""The refusals that a connection asks its handler for, and the exception `Refused`.

A connection notices bytes that are not a request, too many or too slow; its handler
makes the answer.
"""

MALFORMED_REQUEST = "malformed_request"
UNSUPPORTED_TRANSFER_CODING = "unsupported_transfer_coding"
TARGET_TOO_LONG = "target_too_long"
HEADERS_TOO_LARGE = "headers_too_large"
REQUEST_TOO_LARGE = "request_too_large"
REQUEST_TIMEOUT = "request_timeout"
UNAVAILABLE = "unavailable"


class Refused(Exception):
    """A request is refused; the detail says why, without quoting the request."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail


def oversized(limit: int, got: str) -> Refused:
    return Refused(
        REQUEST_TOO_LARGE, f"The body must have at most {limit} bytes; {got}."
    )
