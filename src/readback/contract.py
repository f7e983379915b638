"""The contract as data: paths, model, limits and the table of refusals.

Every fact that a client can rely on stands here once; the API, the cabinet, the
probe and the documentation read it from here. Nothing here knows about HTTP
parsing, databases or pages, and nothing but the standard library is imported.
"""

from dataclasses import dataclass
from http import HTTPStatus

VERSION_PREFIX = "/v1"
MODELS_PATH = f"{VERSION_PREFIX}/models"
CHAT_PATH = f"{VERSION_PREFIX}/chat/completions"

MODEL = "vendor-cabinet-preview-echo"
MODEL_OWNER = "vendor"
ROLE = "user"

MAX_HEAD_BYTES = 16_384
MAX_HEAD_FIELDS = 100
MAX_BODY_BYTES = 32_768
MAX_CONTENT_BYTES = 8_192
MAX_TOKENS = 2_000

# `usage` is synthetic: so many bytes of text are counted as one token.
BYTES_PER_TOKEN = 4
# `created` differs on every answer to one key, so it may run ahead of the clock.
CREATED_LEAD_SECONDS = 60
# A key that has been revoked is refused everywhere within this time.
REVOCATION_SECONDS = 1
MAX_ACTIVE_KEYS = 10
# The journal of a key has so many accepted requests, and so many refused ones.
JOURNAL_ROWS = 100

REQUEST_FIELDS = ("model", "messages", "stream", "max_tokens")
REQUIRED_FIELDS = ("model", "messages")
MESSAGE_FIELDS = ("role", "content")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One row of the table of refusals: what a client is told, and how to mend it."""

    code: str
    status: HTTPStatus
    sentence: str
    hint: str

    @property
    def reason(self) -> str:
        """The reason phrase: many clients show it and nothing else."""
        return f"{self.status.phrase} ({self.code})"


_ROWS = (
    Refusal(
        "malformed_request",
        HTTPStatus.BAD_REQUEST,
        "The bytes are not a well-formed HTTP/1.1 request.",
        "Use an HTTP client library; if you do, look for a proxy that rewrites "
        "requests, or for HTTPS spoken to a plain HTTP port.",
    ),
    Refusal(
        "unsupported_transfer_coding",
        HTTPStatus.NOT_IMPLEMENTED,
        "The request's Transfer-Encoding is not chunked alone.",
        "Send the body with a Content-Length, or chunked and nothing else.",
    ),
    Refusal(
        "target_too_long",
        HTTPStatus.REQUEST_URI_TOO_LONG,
        f"The request line is longer than {MAX_HEAD_BYTES} bytes.",
        "Send the text in the body; the address takes no parameters.",
    ),
    Refusal(
        "headers_too_large",
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        f"The head of the request is larger than {MAX_HEAD_BYTES} bytes "
        f"or has more than {MAX_HEAD_FIELDS} fields.",
        "Remove headers that are not needed: often a proxy adds them, or cookies grow.",
    ),
    Refusal(
        "not_found",
        HTTPStatus.NOT_FOUND,
        "This path, method or URL parameter is not part of the API.",
        f"Use GET {MODELS_PATH} or POST {CHAT_PATH}, with no URL parameters.",
    ),
    Refusal(
        "invalid_key",
        HTTPStatus.UNAUTHORIZED,
        "The key is not accepted.",
        "Send exactly one header 'Authorization: Bearer <key>' with a key from "
        "the cabinet that is not revoked or expired, of an active account with "
        "a confirmed e-mail address.",
    ),
    Refusal(
        "rate_limited",
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many requests in a short time.",
        "Wait as long as the Retry-After header says, then go on more slowly.",
    ),
    Refusal(
        "request_too_large",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The body of the request is larger than {MAX_BODY_BYTES} bytes.",
        f"Shorten the text: it may have {MAX_CONTENT_BYTES} bytes in UTF-8.",
    ),
    Refusal(
        "unsupported_media_type",
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "The body is not declared as plain application/json.",
        "Send the header 'Content-Type: application/json' once, "
        "and no Content-Encoding.",
    ),
    Refusal(
        "invalid_json",
        HTTPStatus.BAD_REQUEST,
        "The body is not a JSON object in UTF-8.",
        "Let a JSON library write the body, in UTF-8 and without a byte order "
        "mark; name each field once.",
    ),
    Refusal(
        "unknown_field",
        HTTPStatus.BAD_REQUEST,
        "The body has a field that the contract does not list.",
        "Send only model, messages, stream and max_tokens, "
        "and in the message only role and content.",
    ),
    Refusal(
        "missing_field",
        HTTPStatus.BAD_REQUEST,
        "A required field is missing.",
        "Send model and messages, and in the message role and content.",
    ),
    Refusal(
        "invalid_model",
        HTTPStatus.BAD_REQUEST,
        "The model is not the one that is offered.",
        f"Set model to {MODEL}.",
    ),
    Refusal(
        "invalid_messages",
        HTTPStatus.BAD_REQUEST,
        "messages is not an array of exactly one message.",
        "Send one message with role user: no system prompt, no history.",
    ),
    Refusal(
        "invalid_role",
        HTTPStatus.BAD_REQUEST,
        "The message's role is not user.",
        "Set role to user; a system prompt or an assistant's turn is not accepted.",
    ),
    Refusal(
        "invalid_content",
        HTTPStatus.BAD_REQUEST,
        "The message's content is not a string.",
        "Send content as one string, not as a list of parts.",
    ),
    Refusal(
        "empty_content",
        HTTPStatus.BAD_REQUEST,
        "The message's content is empty.",
        "Send at least one character.",
    ),
    Refusal(
        "content_too_large",
        HTTPStatus.BAD_REQUEST,
        f"The message's content is larger than {MAX_CONTENT_BYTES} bytes in UTF-8.",
        "Shorten the text; letters outside ASCII take two to four bytes each.",
    ),
    Refusal(
        "stream_unavailable",
        HTTPStatus.BAD_REQUEST,
        "stream is not false.",
        "Turn streaming off in your program, or leave stream out.",
    ),
    Refusal(
        "invalid_max_tokens",
        HTTPStatus.BAD_REQUEST,
        f"max_tokens is not the integer {MAX_TOKENS}.",
        f"Set max_tokens to {MAX_TOKENS}, or leave it out.",
    ),
    Refusal(
        "request_timeout",
        HTTPStatus.REQUEST_TIMEOUT,
        "The request did not arrive completely in time.",
        "Look for a slow or broken network path, or a Content-Length larger than "
        "the body.",
    ),
    Refusal(
        "unavailable",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The service cannot answer this request just now.",
        "Wait as long as the Retry-After header says, then try again.",
    ),
    Refusal(
        "internal_error",
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "The service made a mistake.",
        "Try again; if it stays, tell the operator the X-Request-Id.",
    ),
)

REFUSALS = {row.code: row for row in _ROWS}
