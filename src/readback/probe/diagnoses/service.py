"""Diagnoses of the service: what responds, and whether it keeps to the contract."""

from readback.contract import MAX_CONTENT_BYTES, MODEL
from readback.probe.diagnoses.templates import (
    CHECK_BETWEEN,
    entered,
    machine,
    network,
    ok,
    proxy,
    service,
    skip,
)

HTTP = {
    "http.readback": ok("Readback responded."),
    "http.headers_stripped": proxy.warn("""
        The responses of Readback arrive without {missing}.
        ⇒ A gateway removes these headers, or this is another implementation of the same
        contract. Without them, refusals are not explained and the operator cannot look
        up a request. Let headers that start with X- pass."""),
    "http.endpoint": ok("""
        An OpenAI-compatible API responds; without a key, its status is {status}."""),
    "http.endpoint_named": ok("""
        An OpenAI-compatible API responds; without a key, its status is {status}. It
        names itself: {name}."""),
    "http.anthropic": entered.fail("""
        An API in Anthropic's own format responded ({status}), which is not
        OpenAI-compatible.
        → Use Anthropic's library with this address, or the address of a gateway that
        translates. The key has not been sent."""),
    "http.compressed": proxy.warn("""
        Readback responded, but something compresses its responses ({coding}) although
        the request did not allow it.
        ⇒ Clients without decompression cannot read them. Turn compression off in the
        proxy."""),
    "http.no_connection": network.fail("""
        A second connection could not be opened: {reason}.
        → Try again. If it keeps failing, the service or a firewall limits the number of
        connections: ask your network's administrator."""),
    "http.silent": service.fail("""
        The request was sent, but no response arrived within {timeout} s.
        → Run the probe with a longer --timeout to see whether the service is only slow.
        If there is still no response, tell the operator: the service hangs, or a proxy
        is waiting for a service that is down."""),
    "http.unfinished": service.fail("""
        The run was ended after {limit} s, before the service had accepted the key, so
        it is not known whether the connection works. Not tested: {left_out}.
        → Run the probe again with a longer --timeout, such as 30. If that does not
        help, tell the operator: the times of the other steps show what is slow."""),
    "http.cut": network.fail("""
        The connection was closed before a response arrived.
        ⇒ A firewall, a proxy or the service closed it, or the service crashed. Check
        their logs for this time."""),
    "http.malformed": proxy.fail("""
        Something responded, but not with valid HTTP: {reason}.
        → Compare the host and port with the address you were given. If they are right,
        send this report to your network's administrator: a proxy or filter may change
        the headers of responses."""),
    "http.cut_short": network.fail("""
        The response started, but the connection was closed before its end.
        ⇒ A proxy with a size or time limit closed it, or the service crashed. Check the
        limits of the proxies and the service's log."""),
    "http.stalled": network.fail("""
        The response started, but the rest did not arrive within {timeout} s.
        → Run the probe with a longer --timeout to see whether the response is only
        slow. If it still stops, a proxy or filter holds it back: ask your network's
        administrator."""),
    "http.length_too_large": proxy.fail("""
        The Content-Length of the response is {length}, but its body is complete JSON
        and ends after {received} bytes.
        ⇒ Clients wait for the rest or report an error. Look for a gateway that changes
        a response and keeps its old Content-Length."""),
    "http.error_in_success": service.fail("""
        The response has the status {status}, but contains an error: {detail}
        → Clients take this for a success. The message comes from the service or from a
        gateway in front of it: follow it, or send it to the operator."""),
    "http.tls_port": entered.fail("""
        Port {port} expects TLS, but the address starts with http://.
        → Use https://."""),
    "http.not_http": entered.fail("""
        Port {port} does not speak HTTP.
        → Compare the port with the address you were given."""),
    "http.http2_only": service.fail("""
        The server supports only HTTP/2.
        → Many clients, such as requests and the openai package, use only HTTP/1.1 by
        default. Compare the port with the address you were given. If it is right, tell
        the operator to allow HTTP/1.1."""),
    "http.garbled": proxy.fail("""
        The response is marked as compressed but cannot be decompressed.
        ⇒ A proxy compresses it incorrectly or twice. Turn compression off there."""),
    "http.redirect_https": entered.fail("""
        The service redirects to its address with https://: {base}.
        → Use {base} directly: many clients drop the key or the text on a redirect."""),
    "http.redirect": entered.fail("""
        The response is a redirect to {location}.
        → Compare the address with the one you were given. {use}, because clients drop
        the key or the text on a redirect."""),
    "http.redirect_loop": service.fail("""
        The response redirects to the address that it comes from, {location}, so a
        client that follows it never arrives.
        → Tell the operator: a rule of the service or of a gateway in front of it
        redirects requests that are already at the right address."""),
    "http.redirect_plain": service.fail("""
        The service redirects from https:// to {location}, without encryption.
        → Do not follow it: anyone on the network path could read the key. Tell the
        operator: the service behind the gateway does not know that clients use https://
        (X-Forwarded-Proto)."""),
    "http.redirect_slash": service.fail("""
        The service redirects every path to the same one with a slash at its end:
        {location}.
        → Clients cannot add that slash. Tell the operator that the service should
        answer /models and /chat/completions without a redirect."""),
    "http.login_wall": proxy.fail("""
        A login page responded instead of the API{where}: {status} {title}.
        → It lets in people with a browser, not programs: it belongs to single sign-on,
        to an access gateway, or simply to a web site. Check that this is the address of
        the API. If it is, ask the operator of the service how programs get access."""),
    "http.captive_portal": network.fail("""
        The login page of your network responded instead of the service{where}.
        → Open any web page in a browser on this machine, log in to the network, and try
        again."""),
    "http.proxy_login": proxy.fail("""
        A proxy responded and requires a login (407).
        → Add the user name and password to the proxy's address in the environment
        variable, such as HTTPS_PROXY."""),
    "http.proxy_page": proxy.fail("""
        A proxy responded with its own page: {status} {title}.
        → Ask the administrator of the proxy to allow this address. The statuses 502 to
        504 mean that the proxy cannot reach the service."""),
    "http.gateway": service.fail("""
        A gateway responded with {status} {title}: it cannot reach the service behind
        it, or the service itself is overloaded.{after}
        → The service is down or starting. Try again in a few minutes. If it still
        fails, tell the operator."""),
    "http.maintenance": service.fail("""
        The service is down for maintenance: {status} {title}.{after}
        → Try again later. If it lasts longer than announced, ask the operator."""),
    "http.server_error": service.fail("""
        The server responded with {status}, an error of its own: {title}.
        → Tell its operator: the cause is in the server's log. The key has not been
        sent, because the response does not show that this is an API."""),
    "http.html": entered.fail("""
        A web page responded, not an API: {status} {title}.
        → This may be the address of a web site. Use the address of the API, which
        usually ends in /v1."""),
    "http.cabinet": entered.fail("""
        This is the address of a cabinet, where people manage their keys. Its API is at
        {api}.
        → Use {api} in your program."""),
    "http.no_such_path": entered.fail("""
        The server has no API at this address: {status} {title}.
        → Compare the host and the path with the address you were given. The key has not
        been sent."""),
    "http.no_such_api": entered.fail("""
        An API responds, but it has neither a list of models nor chat completions at
        this address: {status} {title}.
        → Compare the path with the service's documentation: it ends in /openai/v1 for
        Azure OpenAI and Groq, in /v1beta/openai for Gemini, in /api/v1 for OpenRouter,
        and in /v1 for most others. The key has not been sent."""),
    "http.other_api": entered.fail("""
        An API responded with {status} {title}; it is neither Readback nor
        OpenAI-compatible.
        → Your key has not been sent to it. Compare the path of the address with the
        service's documentation."""),
    "http.other": proxy.fail("""
        Something that is not an API responded with {status} {title}.
        → Compare the host and port with the address you were given. If they are right,
        something on the way responds instead of the service: send this report to your
        network's administrator."""),
    # A gateway that the table in `service.gateways` knows.
    "gateway.down": service.fail("""
        {name} responded with {code}: {meaning}.{said}
        → The address leads to {name}, but what is behind it does not work. Try again in
        a few minutes, and if it still fails, send this line to the operator."""),
    "gateway.blocks": proxy.fail("""
        {name} in front of the service responded with {code}: {meaning}.{said}{tried}
        → The request did not reach the service. Send this line to the operator of the
        service, with the time and the IP address of this machine."""),
    "gateway.request": entered.fail("""
        {name} responded with {code}: {meaning}.{said}
        → The cause is in the request that your program sends. Change it, or ask the
        operator of the service for an address that does not require this."""),
    "gateway.address": entered.fail("""
        {name} responded with {code}: {meaning}.{said}
        → Compare the host and the path with the address you were given. The key has not
        been sent."""),
    "http.parameter_added": proxy.fail("""
        Something adds a URL parameter to the requests, so the service refuses them.
        ⇒ Look for a proxy or gateway that adds one for tracking or as a cache key."""),
    "http.path_changed": proxy.fail("""
        Something changes the path or method of the requests: {detail}
        → Compare the path of the address with the one you were given. If it is right, a
        gateway rewrites paths: send this report to your network's administrator or the
        operator of the service."""),
    "http.refused": proxy.fail("""
        The service refused a correct request with {code}: {detail}
        ⇒ Something changes the request before it reaches the service. {hint}"""),
    "http.rate_limited": machine.fail("""
        The service reports too many requests.
        → Wait {wait} s and try again. The probe alone sends up to 60 requests, which
        may be all that the limit allows. If your programs are refused while no probe
        runs, let them send fewer requests, or ask the operator of the service for a
        higher limit."""),
    "http.unavailable": service.fail("""
        The service responded with {code}: {detail}
        → Try again. If it keeps failing, tell the operator the request id:
        {request_id}."""),
}

CONTRACT = {
    "models.ok": ok(f"The list contains one model, {MODEL}."),
    "models.changed": proxy.fail(f"""
        The list of models differs from the contract.
        ⇒ {CHECK_BETWEEN}"""),
    "limit.refused": ok("A text one byte over the limit is refused, as it should be."),
    "limit.refused_elsewhere": proxy.warn("""
        A text one byte over the limit is refused with {status}, but not by the service.
        ⇒ Look for a proxy, gateway or filter with a lower limit than that of the
        service."""),
    "limit.ignored": proxy.fail(f"""
        A text of {MAX_CONTENT_BYTES + 1} bytes is not refused: it was shortened before
        it reached the service.
        ⇒ {CHECK_BETWEEN}"""),
    "parameter.refused": ok("""
        A request with a URL parameter is refused, as it should be."""),
    "parameter.ignored": proxy.fail("""
        A URL parameter leads to {status} instead of 404: something removes it.
        ⇒ Look for a proxy or gateway that rewrites URLs."""),
    "reuse.ok": ok("The second request used the same connection."),
    "reuse.closed": proxy.warn("""
        Each request needs a new connection, which costs time.
        ⇒ Look for a proxy that closes connections, and turn on keep-alive there."""),
    "cabinet.same": ok("The cabinet shows this address."),
    "cabinet.unknown": skip("""
        The service does not say where its cabinet is.
        → Use --cabinet URL to compare the address with the cabinet's."""),
    "cabinet.unreachable": service.warn("""
        The cabinet at {cabinet} did not provide the address: {reason}.
        → Compare the address yourself, or pass the right address of the cabinet with
        --cabinet."""),
    "cabinet.differs": entered.warn("""
        The cabinet shows a different address: {current}.
        → Use that one, unless you know why yours differs."""),
    "cabinet.moved": entered.fail("""
        The service has moved to {current}; you are using its previous address.
        → Change the address in your program to the new one."""),
}
_FIRST = "First difference: {difference}."

ECHO = {
    "echo.same": ok("Returned unchanged, byte for byte."),
    "echo.charset": proxy.fail(f"""
        The character encoding was changed in transit ({{cause}}). {_FIRST}
        ⇒ A proxy, gateway or wrapper reads or writes JSON in an encoding other than
        UTF-8. Set it to UTF-8 there."""),
    "echo.normalised": proxy.fail(f"""
        The text was normalized to {{cause}} in transit. {_FIRST}
        ⇒ {CHECK_BETWEEN}"""),
    "echo.smart_quotes": proxy.fail(f"""
        Quotation marks, dashes or ellipses were replaced with typographic ones in
        transit. {_FIRST}
        ⇒ Turn off automatic replacement where the text is typed or forwarded."""),
    "echo.line_ends": proxy.fail(f"""
        Line endings were changed in transit ({{cause}}). {_FIRST}
        ⇒ Look for a gateway, or for a file transfer in text mode."""),
    "echo.truncated": proxy.fail(f"""
        The text was cut off after {{received}} of {{sent}} bytes. {_FIRST}
        ⇒ Look for a buffer or a size limit in a proxy or gateway."""),
    "echo.trimmed": proxy.fail(f"""
        Whitespace at the start or end was removed in transit. {_FIRST}
        ⇒ {CHECK_BETWEEN}"""),
    "echo.controls": proxy.fail(f"""
        Control or invisible characters were removed in transit. {_FIRST}
        ⇒ Look for a filter that cleans up text."""),
    "echo.escaped": proxy.fail(f"""
        The text was escaped for HTML in transit. {_FIRST}
        ⇒ {CHECK_BETWEEN}"""),
    "echo.unescaped": proxy.fail(f"""
        The text was taken for HTML in transit: {{cause}}. {_FIRST}
        ⇒ Look for a gateway or filter that cleans or decodes HTML, and turn that off
        for JSON."""),
    "echo.spaces": proxy.fail(f"""
        Whitespace inside the text was changed in transit ({{cause}}). {_FIRST}
        ⇒ Look for a filter that cleans up text."""),
    "echo.form": proxy.fail(f"""
        The text was treated like a part of a URL or form in transit: {{cause}}.
        {_FIRST}
        ⇒ Look for a gateway or wrapper that decodes or encodes the body of
        requests."""),
    "echo.backslashes": proxy.fail(f"""
        Backslashes in the text were changed in transit: {{cause}}. {_FIRST}
        ⇒ Look for a gateway or wrapper that builds JSON by joining strings, or parses
        it twice."""),
    "echo.changed": proxy.fail(f"""
        The text was changed in transit. {_FIRST}
        ⇒ {CHECK_BETWEEN}"""),
    "echo.replayed": proxy.fail("""
        The same response arrived twice: it comes from a cache or a recording.
        ⇒ Exclude the address from caching; every response is marked no-store."""),
    "echo.swapped": service.fail("""
        A request was answered with the response to another request of this run.
        → Something mixes up responses: a proxy, a balancer or a pool of connections.
        Texts can reach the wrong person, so stop using this path until the cause is
        found. Send the operator this report and the time of the run."""),
    "echo.shape": proxy.fail(f"""
        The response is not a completion as defined by the contract: it has no
        {{missing}}.
        ⇒ {CHECK_BETWEEN}"""),
    "echo.media_type": proxy.fail("""
        The request was compressed or its Content-Type was changed in transit: {detail}
        ⇒ Turn off request compression in the proxy."""),
    "latency.ok": ok("{samples} echoes, each on a new connection."),
    "latency.slow": network.warn("""
        The connection is slow: {samples} echoes, each on a new connection.
        → If your programs are quick enough, there is nothing to do. A long connect time
        means distance or a slow network: try a cable instead of Wi-Fi, and without the
        VPN. If only the answer time is long, a proxy or the service is slow: tell the
        operator of the service."""),
}
