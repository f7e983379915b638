"""Problems with forward proxies and with the variables that name them."""

from tests.probe.gateway import (
    Reply,
    after,
    answering,
    as_json,
    closing,
    every,
    hanging,
    is_chat,
    page,
    tunneling,
    when,
)
from tests.probe.misfortunes.arranging import kind_of
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import SERVICE, issued_by, other_in, proxied
from tests.support.authority import DAY

_SQUID = {"Server": "squid/5.7", "Via": "1.1 office (squid/5.7)"}
_LOGIN = answering(407, b"login", Proxy_Authenticate='Basic realm="office"', **_SQUID)


def _row(name, *says, behave=None, by="network you", **options):
    judged = ("never", "shows", "blame", "id")
    more = {k: options.pop(k) for k in judged if k in options}
    return Misfortune(name, proxied(behave, **options), says, by, **more)


_BOTH = tuple(
    row
    for encrypted, how in ((False, "for plain HTTP"), (True, "for a tunnel"))
    for row in (
        _row(
            f"the proxy requires a login {how}",
            "log ?in|password",
            "proxy",
            behave=_LOGIN,
            encrypted=encrypted,
            by="you",
            id="proxy.login",
        ),
        _row(
            f"the proxy refuses the password {how}",
            "password|log ?in",
            "refus|not accept|wrong",
            "proxy",
            behave=_LOGIN,
            login="alice:wrong@",
            by="you",
            encrypted=encrypted,
            id="proxy.login",
        ),
        _row(
            f"the proxy forbids the address {how}",
            "proxy",
            "403|denied",
            behave=page(403, "Access denied", "By policy.", **_SQUID),
            encrypted=encrypted,
            by="network",
            id="proxy.cannot_connect" if encrypted else "http.proxy_page",
        ),
        _row(
            f"the proxy cannot reach the service {how}",
            "proxy|gateway",
            "reach|connect",
            behave=page(502, "Bad Gateway", **_SQUID),
            encrypted=encrypted,
            by="network operator",
            id="proxy.cannot_reach" if encrypted else "proxy.responded",
        ),
        _row(
            f"the proxy cannot look up the name {how}",
            "ERR_DNS_FAIL",
            "proxy",
            behave=page(503, "Error", X_Squid_Error="ERR_DNS_FAIL 0", **_SQUID),
            encrypted=encrypted,
            by="network operator",
            id="proxy.cannot_reach" if encrypted else "proxy.responded",
        ),
        _row(
            f"the proxy closes connections {how}",
            "closed|cut",
            behave=closing,
            encrypted=encrypted,
            id="proxy.wrong_kind",
        ),
        _row(
            f"the proxy hangs {how}",
            "respond|response|silent",
            behave=hanging,
            by="network operator you",
            encrypted=encrypted,
            timeout=2.0,
        ),
        _row(
            f"the proxy sends people to a login page {how}",
            "log ?in|page|redirect",
            behave=answering(302, Location="http://portal.example:8080/login"),
            encrypted=encrypted,
        ),
        _row(
            f"the proxy answers 200 with a login page {how}",
            "log ?in|page",
            behave=page(200, "Office network – Log in"),
            encrypted=encrypted,
            id="proxy.login_scheme" if encrypted else "http.login_wall",
        ),
        _row(
            f"a web server is set as the proxy {how}",
            "not a proxy",
            "400 Bad Request",
            behave=page(400, "400 Bad Request"),
            encrypted=encrypted,
            by="you",
            id="proxy.wrong_kind",
        ),
        _row(f"the proxy works {how}", encrypted=encrypted, by=""),
    )
)
_TUNNELS = (
    *(
        _row(
            f"{n - 1} tunnels, and then one {what}",
            r"\bof \d+ connections",
            behave=every(n, refuse, tunneling()),
            encrypted=True,
            by="network",
            id="sometimes.proxy",
        )
        for n in (2, 3, 4, 5)
        for what, refuse in (
            ("is refused", page(503, "Busy", **_SQUID)),
            ("needs a login", _LOGIN),
            ("is closed at once", closing),
            ("is closed as soon as it is open", lambda call: Reply(200, keep=0)),
        )
    ),
    _row(
        "the tunnel ends at a web site without TLS",
        "TLS",
        behave=lambda call: answering(200, b"")(call),
        encrypted=True,
    ),
    _row(
        "the proxy accepts CONNECT, then closes",
        "closed|cut",
        behave=lambda call: Reply(200, "Connection established", keep=0),
        encrypted=True,
    ),
    _row(
        "the proxy takes four seconds for a tunnel",
        "slow|proxy|took|time",
        behave=after(2.0, tunneling()),
        encrypted=True,
        timeout=10.0,
        by="",
    ),
    _row(
        "NTLM is required",
        "log ?in|NTLM",
        behave=answering(407, Proxy_Authenticate="NTLM"),
        encrypted=True,
        login="alice:hush@",
    ),
    _row(
        "a JSON error of the proxy",
        "proxy",
        "quota of the team",
        behave=as_json(403, {"error": "quota of the team is used up"}),
        encrypted=True,
        by="network",
    ),
    _row(
        "a mail server is set as the proxy",
        "not a proxy",
        behave=lambda call: Reply(220, "ready", version="220-mail.example"),
        encrypted=True,
        by="you",
        id="proxy.wrong_kind",
    ),
    *(
        _row(
            f"the proxy refuses every plain request with {status}",
            str(status),
            behave=page(status, "No"),
            by="network operator",
        )
        for status in (411, 417, 429, 431)
    ),
    _row(
        "the proxy refuses plain HTTP without a reason",
        "proxy",
        behave=answering(403, b"no"),
        by="network operator",
        id="proxy.responded",
    ),
)
_SETTINGS = (
    _row(
        "a PAC address is set as the proxy",
        "PAC|script|\\.pac",
        variables={"http_proxy": "http://127.0.0.1:1/proxy.pac"},
        by="you",
        id="proxies.malformed",
    ),
    _row(
        "an entry of NO_PROXY has a scheme",
        "no_proxy",
        behave=hanging,
        timeout=2.0,
        variables={"no_proxy": f"http://{SERVICE}"},
        by="you",
        id="proxies.no_proxy_ignored",
    ),
    _row(
        "httpx refuses the proxy of other addresses",
        "all_proxy",
        variables={"all_proxy": "socks://127.0.0.1:7891/"},
        by="you",
        id="proxies.malformed",
    ),
    _row(
        "behind a tunnel, the service fails, and NO_PROXY is not understood",
        "502",
        encrypted=True,
        decrypted=page(502, "Bad Gateway"),
        variables={"no_proxy": f"http://{SERVICE}"},
        by="operator",
    ),
    _row(
        "the proxy's name cannot exist",
        "proxy",
        variables={"http_proxy": f"http://{'x' * 64}:3128"},
        by="you",
        id="proxy.unreachable",
    ),
    _row(
        "an HTTPS scheme is used for an HTTP proxy",
        "TLS|https",
        scheme="https",
        by="you network",
    ),
)

_DECRYPTING = tuple(
    _row(
        f"a proxy that may decrypt refuses {what} for {service}",
        says,
        by="network operator",
        encrypted=True,
        service=service,
        decrypted=when(match, page(413, "413 Request Entity Too Large")),
    )
    for service in (SERVICE, "api.example")
    for what, match, says in (
        ("large bodies", lambda call: len(call.body) > 4000, "413|size"),
        ("completions", is_chat, "413"),
    )
)

# A proxy is not responsible for the certificate at the end of its tunnel.
_BEHIND_TUNNELS = tuple(
    _row(
        f"behind a tunnel, {what}",
        by="operator",
        encrypted=True,
        service="api.example",
        certificate=certificate,
        decrypted=when(lambda call: len(call.body) > 4000, page(413, "Too large")),
        store=other_in("SSL_CERT_FILE"),
        blame="store",
        id=finding,
    )
    for what, certificate, finding in (
        (
            "mkcert has made the certificate, and large bodies are refused",
            issued_by("mkcert alice@laptop", host="api.example"),
            "between.size_limit",
        ),
        (
            "the certificate has expired",
            issued_by("Acme", host="api.example", since=-9 * DAY, until=-DAY),
            "tls.expired",
        ),
        (
            "the certificate is self-signed",
            issued_by("Acme", host="api.example", self_signed=True),
            "tls.self_signed",
        ),
    )
)

PROXIES = kind_of(
    "proxies", *_BOTH, *_TUNNELS, *_SETTINGS, *_DECRYPTING, *_BEHIND_TUNNELS
)
