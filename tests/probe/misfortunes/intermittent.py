"""Intermittent faults: some of the servers behind an address misbehave."""

from dataclasses import replace

from tests.probe.gateway import (
    Reply,
    answering,
    as_json,
    closing,
    editing_text,
    every,
    first,
    hanging,
    has_key,
    in_turn,
    on_every_connection,
    page,
    pass_on,
    proxying,
    resetting,
    rewriting,
    swapped,
    when,
    with_fields,
)
from tests.probe.misfortunes.arranging import OTHER_KEY, OTHERS, kind_of
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import (
    Arrange,
    below,
    issued_by,
    over_tls,
    proxied,
    serving,
    through,
)
from tests.support.authority import DAY

SOMETIMES = r"some of|sometimes|\bof (the )?\d+ |now and then|intermittent|not every"
_BAD_GATEWAY = page(502, "502 Bad Gateway")
_INTERNAL = answering(500, b"Internal Server Error", Content_Type="text/plain")
_UNKNOWN_KEY = as_json(
    401,
    {"error": {"code": "invalid_key"}},
    X_Error_Detail="The key is unknown, revoked or expired.",
    X_Request_Id="3b1f8a1e-54bd-4d13-9a68-9f0b7a33cf0e",
)
_OTHER_API = as_json(404, {"detail": "Not Found"}, Server="uvicorn")
_WEBSITE = page(200, "Welcome to nginx!")
_NO_KEY = as_json(401, {"error": {"message": "No key", "type": "auth"}})
_WRONG = as_json(401, {"error": {"message": "Wrong key", "type": "auth"}})


def _row(
    name: str, arrange: Arrange, *says: str, by: str = OTHERS, **more
) -> Misfortune:
    return Misfortune(name, arrange, (SOMETIMES, *says), by, **more)


def _nth(n: int) -> str:
    return {2: "second", 3: "third"}.get(n, f"{n}th")


def _cut(reply: Reply) -> Reply:
    return replace(reply, keep=len(reply.body) // 2)


_STATUSES = tuple(
    _row(
        f"every {_nth(n)} request gets {status}",
        through(every(n, answer)),
        str(status),
        id="sometimes.fails",
    )
    for status, answer in ((502, _BAD_GATEWAY), (500, _INTERNAL))
    for n in (2, 3, 4, 5, 7)
)
_ENDINGS = tuple(
    _row(f"every {_nth(n)} request is {word}", through(every(n, behave)))
    for word, behave in (("reset", resetting), ("closed without an answer", closing))
    for n in (2, 3, 5, 7)
)
_OTHER_ANSWERS = (
    _row(
        "every third request gets 503 with Retry-After",
        through(every(3, page(503, "Service Unavailable", Retry_After="5"))),
        "503",
    ),
    _row(
        "every fourth request gets 429",
        through(every(4, as_json(429, {"error": {"message": "Slow down"}}))),
        "429",
        by="nobody",
        id="sometimes.rate_limited",
    ),
    _row(
        "every second request is answered by another service",
        through(every(2, _OTHER_API)),
    ),
    _row("every third request is answered by a web site", through(every(3, _WEBSITE))),
    _row(
        "one of two servers does not know the key",
        through(every(2, when(has_key, _UNKNOWN_KEY))),
        id="sometimes.key",
    ),
    _row(
        "the server of every second connection does not know the key",
        through(on_every_connection(2, when(has_key, _UNKNOWN_KEY))),
    ),
    _row(
        "every second request with a key loses it",
        through(every(2, rewriting(lambda call: call.with_field("Authorization")))),
    ),
    _row("every third request gets no answer", through(every(3, hanging), timeout=2.0)),
    _row(
        "one of two servers replaces a word of the text",
        through(every(2, editing_text(lambda text: text.replace("copy", "paste")))),
    ),
    _row(
        "every third answer is cut in the middle",
        through(every(3, lambda call: _cut(pass_on(call)))),
    ),
    _row(
        "502, 500 and an answer take turns",
        through(in_turn(pass_on, _BAD_GATEWAY, _INTERNAL)),
    ),
    Misfortune(
        "each text goes to the next request",
        through(swapped),
        (
            r"another request|other request|swapped|mixed up|belong|cache|same "
            "response",
        ),
        OTHERS,
        id="echo.swapped",
    ),
    Misfortune(
        "one of two servers names another server program",
        through(every(2, with_fields(Server="other"))),
        by="",
    ),
)

# A permanent fault takes precedence over intermittent ones.
_ALWAYS = (
    *(
        Misfortune(
            f"every request fails: {what}",
            through(in_turn(*answers)),
            by=by,
            id=finding,
            never=("the others were answered",),
        )
        for what, answers, finding, by in (
            (
                "502 and 504 in turn",
                (_BAD_GATEWAY, page(504, "504 Gateway Time-out")),
                "http.gateway",
                "operator",
            ),
            ("502 and resets in turn", (_BAD_GATEWAY, resetting), "", "operator"),
            ("999", (answering(999, b"no"),), "http.gateway", "operator"),
        )
    ),
    *(
        Misfortune(
            f"{what}, and every third answer is {failure}",
            through(every(3, fail, usual), key=key),
            by="you",
            id=finding,
            shows=(failure,),
            blame="key",
        )
        for failure, fail in (
            ("status 502", _BAD_GATEWAY),
            ("status 500", as_json(500, {"error": {"message": "x"}})),
            ("a closed connection", closing),
        )
        for what, usual, key, finding in (
            ("a wrong key", when(has_key, _WRONG, _NO_KEY), OTHER_KEY, "key.refused"),
            ("a web site", page(200, "Welcome"), OTHER_KEY, "http.html"),
            (
                "a missing path",
                answering(404, b"no", Content_Type="text/plain"),
                OTHER_KEY,
                "http.no_such_path",
            ),
        )
    ),
    *(
        _row(f"{status} three times, and then a Readback", through(first(3, answer)))
        for status, answer in (
            ("401 as a page", page(401, "Unauthorized")),
            ("401 in JSON", as_json(401, {"error": {"message": "x", "type": "y"}})),
            ("403", as_json(403, {"message": "Forbidden"})),
            ("404", page(404, "Not Found")),
            ("405", page(405, "Not Allowed")),
        )
    ),
    Misfortune(
        "a proxy changes only the first request of a connection",
        proxied(when(lambda call: call.place == 1, _BAD_GATEWAY, proxying())),
        ("proxy",),
        "network operator",
    ),
)
_CERTIFICATES = tuple(
    _row(
        f"one of {count} servers has a certificate that {what}",
        over_tls(*[serving()] * (count - 1), bad),
        "certificate",
        by="operator",
        id="sometimes.certificate",
    )
    for what, bad in (
        ("has expired", serving(since=-9 * DAY, until=-DAY)),
        ("is for another name", serving(host="other.example")),
        ("an unknown authority has issued", issued_by("Another Root")),
        ("is self-signed", serving(self_signed=True)),
        ("lacks its intermediate", below("Middle", chain=[])),
        ("is not valid yet", serving(since=DAY, until=9 * DAY)),
    )
    for count in (2, 3)
)

INTERMITTENT = kind_of(
    "intermittent",
    *_STATUSES,
    *_ENDINGS,
    *_OTHER_ANSWERS,
    *_ALWAYS,
    *_CERTIFICATES,
)
