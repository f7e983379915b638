"""The contract as data: paths, model, limits and the table of refusals.

Every fact that a client can rely on is defined here once; the API, the cabinet, the
probe and the documentation read it from here. Nothing here knows about HTTP parsing,
databases or pages, and nothing but the standard library is imported.
"""

from dataclasses import dataclass
from http import HTTPStatus

VERSION_PREFIX = "/v1"
MODELS_PATH = f"{VERSION_PREFIX}/models"
CHAT_PATH = f"{VERSION_PREFIX}/chat/completions"

# The probe asks for this path, which does not exist, to recognize the service.
PROBE_PATH = f"{VERSION_PREFIX}/probe"

# Paths of the ops listener, not of the API. The cabinet serves the first one, too.
HEALTH_PATH = "/healthz"
READINESS_PATH = "/readyz"

# The names of the endpoints in metrics, usage and the journal. OTHER is for all other
# requests.
MODELS = "models"
CHAT = "chat"
OTHER = "other"
ENDPOINTS = (MODELS, CHAT, OTHER)

MODEL = "vendor-cabinet-preview-echo"
MODEL_LIST = {
    "object": "list",
    "data": [{"id": MODEL, "object": "model", "owned_by": "vendor"}],
}
ROLE = "user"

MAX_HEAD_BYTES = 16_384
MAX_HEAD_FIELDS = 100
MAX_BODY_BYTES = 32_768
MAX_CONTENT_BYTES = 8_192
MAX_TOKENS = 2_000

# `usage` is synthetic: this many bytes of text count as one token.
BYTES_PER_TOKEN = 4
# Successive values of `created` differ, so they may run ahead of the clock, by at most
# this much. After that, they continue from the current time.
CREATED_LEAD_SECONDS = 3600
# `created` has ten digits even if the machine's clock has not been set.
EARLIEST_CREATED = 1_000_000_000
# A revoked key is refused everywhere within this time.
REVOCATION_SECONDS = 1
MAX_ACTIVE_KEYS = 10
# A key's journal keeps this many accepted requests, and this many refused ones.
JOURNAL_ROWS = 100
# The header X-Error-Detail and the detail in the journal are at most this long.
MAX_DETAIL_LENGTH = 1000
# The journal truncates longer values.
JOURNAL_DIFFERENCES_LENGTH = 400
JOURNAL_USER_AGENT_LENGTH = 80
JOURNAL_ADDRESS_LENGTH = 45
# Replaces a row's address if its requests came from several networks.
SEVERAL_ADDRESSES = "several"
# Requests without an accepted key are shown to people on the same network: at most this
# many different ones, the newest first, for this long.
UNMATCHED_ROWS = 8
UNMATCHED_SECONDS = 600

# If a rehearsal key gets a 404, the detail ends with this and the key's pattern.
REHEARSAL_KEY = "This is a rehearsal key with the pattern"

REQUEST_FIELDS = ("model", "messages", "stream", "max_tokens")
REQUIRED_FIELDS = ("model", "messages")
MESSAGE_FIELDS = ("role", "content")


# RFC 9110 §15.5.14 and §15.5.15; Python has had these phrases only since 3.13.
_PHRASES = {413: "Content Too Large", 414: "URI Too Long"}


def reason_phrase(status: int) -> str:
    return _PHRASES.get(status) or HTTPStatus(status).phrase


@dataclass(frozen=True)
class Refusal:
    """One row of the table of refusals: what a client is told, and what to change."""

    code: str
    sentence: str
    hint: str
    status: HTTPStatus = HTTPStatus.BAD_REQUEST

    @property
    def reason(self) -> str:
        """The reason phrase, which is all that many clients show."""
        return f"{reason_phrase(self.status)} ({self.code})"


_ROWS = (
    Refusal(
        "malformed_request",
        "The request is not well-formed HTTP/1.1.",
        "Use an HTTP client library. If you already do, check whether a proxy "
        "rewrites requests, and whether the URL has https:// for a port that expects "
        "http://, or the reverse.",
    ),
    Refusal(
        "unsupported_transfer_coding",
        "The Transfer-Encoding of the request is not supported.",
        "Send the body with a Content-Length, or with Transfer-Encoding: "
        "chunked and no other coding.",
        HTTPStatus.NOT_IMPLEMENTED,
    ),
    Refusal(
        "target_too_long",
        f"The request line is longer than {MAX_HEAD_BYTES} bytes.",
        "Send the text in the body; URL parameters are not accepted.",
        HTTPStatus.REQUEST_URI_TOO_LONG,
    ),
    Refusal(
        "headers_too_large",
        f"The request line and headers are larger than {MAX_HEAD_BYTES} bytes, or "
        f"there are more than {MAX_HEAD_FIELDS} header fields.",
        "Remove headers that are not needed, such as large cookies or "
        "headers that a proxy adds.",
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    ),
    Refusal(
        "not_found",
        "This path, method or URL parameter is not part of the API.",
        f"Use GET {MODELS_PATH} or POST {CHAT_PATH}, without URL parameters.",
        HTTPStatus.NOT_FOUND,
    ),
    Refusal(
        "invalid_key",
        "The key is not accepted.",
        "Send exactly one header 'Authorization: Bearer <key>' with a key "
        "from the cabinet. The key must not be revoked or expired, and its "
        "account must be active with a confirmed e-mail address.",
        HTTPStatus.UNAUTHORIZED,
    ),
    Refusal(
        "rate_limited",
        "Too many requests arrived in a short time.",
        "Wait for the number of seconds in the Retry-After header, then send "
        "requests more slowly.",
        HTTPStatus.TOO_MANY_REQUESTS,
    ),
    Refusal(
        "request_too_large",
        f"The body of the request is larger than {MAX_BODY_BYTES} bytes.",
        f"Shorten the text to at most {MAX_CONTENT_BYTES} bytes in UTF-8.",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    ),
    Refusal(
        "unsupported_media_type",
        "The body is not declared as application/json.",
        "Send the header 'Content-Type: application/json' once, and no "
        "Content-Encoding.",
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    ),
    Refusal(
        "invalid_json",
        "The body is not a JSON object in UTF-8.",
        "Write the body with a JSON library, in UTF-8 without a byte order "
        "mark, and use each field name once.",
    ),
    Refusal(
        "unknown_field",
        "The body contains a field that is not part of the contract.",
        "Send only the fields model, messages, stream and max_tokens. The message may "
        "contain only role and content.",
    ),
    Refusal(
        "missing_field",
        "A required field is missing.",
        "Send the fields model and messages. The message needs role and content.",
    ),
    Refusal("invalid_model", "The model does not exist.", f"Set model to {MODEL}."),
    Refusal(
        "invalid_messages",
        "The field messages is not an array of exactly one message.",
        "Send one message with the role user, without a system prompt or "
        "earlier messages.",
    ),
    Refusal(
        "invalid_role",
        "The role of the message is not user.",
        "Set role to user; system and assistant messages are not accepted.",
    ),
    Refusal(
        "invalid_content",
        "The content of the message is not a string.",
        "Send content as one string, not as a list of parts.",
    ),
    Refusal(
        "empty_content",
        "The content of the message is empty.",
        "Send at least one character.",
    ),
    Refusal(
        "content_too_large",
        f"The content of the message is larger than {MAX_CONTENT_BYTES} bytes "
        "in UTF-8.",
        "Shorten the text; characters outside ASCII take two to four bytes each.",
    ),
    Refusal(
        "stream_unavailable",
        "The field stream is not false.",
        "Turn off streaming in your program, or omit the field stream.",
    ),
    Refusal(
        "invalid_max_tokens",
        f"The field max_tokens is not the integer {MAX_TOKENS}.",
        f"Set max_tokens to {MAX_TOKENS}, or omit it.",
    ),
    Refusal(
        "request_timeout",
        "The request did not arrive completely in time.",
        "Look for a slow or interrupted network path, or for a Content-Length"
        " that is larger than the body.",
        HTTPStatus.REQUEST_TIMEOUT,
    ),
    Refusal(
        "unavailable",
        "The service cannot answer this request at the moment.",
        "Wait for the number of seconds in the Retry-After header, then try again.",
        HTTPStatus.SERVICE_UNAVAILABLE,
    ),
    Refusal(
        "internal_error",
        "An error occurred in the service.",
        "Try again. If the error persists, give the X-Request-Id to the operator.",
        HTTPStatus.INTERNAL_SERVER_ERROR,
    ),
)

REFUSALS = {row.code: row for row in _ROWS}
