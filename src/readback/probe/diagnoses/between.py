"""Diagnoses of what happens to requests between this machine and the service."""

from readback.contract import MODEL
from readback.probe.diagnoses.templates import machine, network, ok, proxy, service

_BLOCKED = (
    "Something in between blocks {blocked} because of the User-Agent ({how}); {passed} "
    "can pass."
)
_ASK_TO_ALLOW = (
    "This is done by a firewall or by bot protection. Ask its administrator to exempt "
    "the address of the API"
)
_CLOCK = "The service's clock is {offset} {direction} this machine's"
_CONSEQUENCES = (
    "If a clock is wrong, certificates and tokens seem expired or not yet valid."
)

BETWEEN = {
    # Something else responds.
    "between.blocked": proxy.fail(f"""
        Something in front of the service refuses the request: {{status}}
        {{title}}.{{tried}}
        → {_ASK_TO_ALLOW}, and mention the time and the status."""),
    "between.challenge": proxy.fail("""
        Bot protection responded with a test that only a browser can pass: {status}
        {title}.{tried}
        → Ask the operator of the service to turn the protection off for the address of
        the API."""),
    "between.cookie_wall": proxy.fail("""
        Something in front of the service sets a cookie and redirects to the same
        address, {location}, so it waits for a client that returns cookies, as browsers
        do.
        → Most programs do not return them. Ask the operator of the service to turn this
        protection off for the address of the API."""),
    "between.rate_limited": proxy.fail("""
        Something in front of the service limits the rate of requests (429); it is not
        the service's own limit: {title}.{tried}
        → Wait {wait} seconds and try again. If it happens again, ask the operator of
        the service or your network's administrator for a higher limit."""),
    "between.other_response": proxy.fail("""
        Something other than the service responded to this request: {status} {title}.
        ⇒ The address is right: the service responded to other requests. Look for a
        filter, gateway or cache that answers some requests itself."""),
    "between.coding": proxy.fail("""
        The response is compressed with {coding} although the request did not allow it.
        ⇒ Most clients cannot read it. Turn that compression off in the proxy or
        gateway."""),
    "between.trailing": proxy.fail("""
        The response has {bytes} extra bytes after the JSON, so clients cannot read it.
        ⇒ Look for a gateway that appends something to responses: a script, a comment, a
        debug line."""),
    "between.body_changed": proxy.fail("""
        Readback responded, but the body of its response was changed on the way: {how}.
        ⇒ Clients cannot read it. Look for a gateway, a filter or a wrapper that
        rewrites the bodies of responses, and turn that off for this address."""),
    "between.cut": proxy.fail("""
        The response ends after {bytes} bytes, in the middle of its JSON, although the
        connection was not closed early.
        ⇒ Look for a gateway or filter that cuts off responses: a buffer or a limit of
        about {bytes} bytes."""),
    "between.length_in_characters": proxy.fail("""
        The Content-Length of the response counts characters, not bytes: it is {length},
        but the body has {bytes} bytes.
        ⇒ Every text with characters outside ASCII is cut off. Look for a gateway that
        rewrites responses; it must count the bytes of the encoded body."""),
    "key.changed": proxy.fail("""
        The key is changed on its way to the service. The key entered is well-formed,
        but the service received another one: {detail}
        ⇒ Look for a proxy or gateway that sets, appends to or rewrites the
        Authorization header."""),
    # By User-Agent.
    "between.openai_blocked": proxy.fail(f"""
        {_BLOCKED}
        → {_ASK_TO_ALLOW}. The remaining steps were run as {{used}}."""),
    "between.probe_blocked": proxy.warn(f"""
        {_BLOCKED}
        → {_ASK_TO_ALLOW} if other programs of yours are blocked, too. The remaining
        steps were run as {{used}}."""),
    "between.program_blocked": proxy.warn(f"""
        {_BLOCKED}
        → {_ASK_TO_ALLOW} if you use one of them."""),
    "between.programs_pass": ok("Requests of {programs} get through, too."),
    "between.expect_ok": ok("A request that asks for 100 Continue gets through."),
    "between.expect_refused": proxy.warn("""
        A request with the header Expect: 100-continue does not get through ({how}).
        → Turn the header off in programs that send it (.NET Framework:
        Expect100Continue; curl: -H 'Expect:'), or allow it in the proxy."""),
    # By size.
    "between.mtu": network.fail("""
        Large {what} hang: those of more than about {total} bytes never arrive. Texts of
        {passes} bytes are returned, and texts of {fails} bytes are not. That is the
        size of a packet: a link on the path accepts only smaller ones, and a firewall
        drops the messages that say so.
        ⇒ Lower the MTU of this machine's network interface or VPN (try 1280) to confirm
        it; then have the administrator allow ICMP “fragmentation needed” or clamp the
        MSS."""),
    "between.size_limit": proxy.fail("""
        Large {what} do not get through. Texts of {passes} bytes are returned, and texts
        of {fails} bytes are not ({outcome}).
        ⇒ Look for a limit of about {total} bytes on the size of {what} in a proxy,
        gateway or filter."""),
    # After some idle seconds.
    "between.idle_ok": ok("A connection still works after {seconds} without traffic."),
    "between.idle_closed": ok("""
        A connection without traffic is closed within {seconds}, and clients
        notice."""),
    "between.idle_dead": network.fail("""
        A connection without traffic for {seconds} is dead, but nothing says so: a
        request on it gets no response.
        ⇒ A firewall, VPN or address translation forgets idle connections. Raise its
        timeout. Until then, let programs keep idle connections for a shorter time, or
        turn keep-alive off."""),
    "between.idle_reset": network.warn("""
        A connection without traffic for {seconds} is cut by the next request on it.
        ⇒ A firewall, VPN or load balancer forgets idle connections. Raise its timeout,
        or let programs keep idle connections for a shorter time."""),
    # The clock.
    "clock.ok": ok("This machine's clock agrees with the service's."),
    "clock.machine": machine.warn(f"""
        {_CLOCK}, and the cabinet's agrees with the service's: the clock of this machine
        is probably wrong.
        → Set this machine's clock, or turn on automatic time synchronization.
        {_CONSEQUENCES}"""),
    "clock.service": service.warn(f"""
        {_CLOCK}, which agrees with the cabinet's: the clock of the service, or of a
        gateway in front of it, is probably wrong.
        → Tell the operator to set the clock. {_CONSEQUENCES}"""),
    "clock.differs": machine.warn(f"""
        {_CLOCK}; it is not known which of them is wrong.
        → Compare this machine's clock with another one first, and turn on automatic
        time synchronization. {_CONSEQUENCES}"""),
    # Changed responses.
    "between.unchanged": ok("The responses arrive as the service sends them."),
    "between.seen": ok("""
        The responses arrive as the service sends them, through something that adds
        {seen}."""),
    "between.content_type": proxy.fail("""
        The responses are {type} instead of application/json.
        ⇒ Set the Content-Type in the gateway. Of the clients that were tried, openai
        6.49 for Node returns a string instead of a completion, and requests 2.34
        garbles characters outside ASCII if the type starts with text/."""),
    "between.charset_label": proxy.warn("""
        The Content-Type of the responses names the character set {charset}, but they
        are UTF-8.
        ⇒ Remove the charset in the gateway. Of the clients that were tried, requests
        2.34 garbles characters outside ASCII; openai and httpx ignore the name."""),
    "between.bom": proxy.warn("""
        Something puts a byte order mark before the JSON of the responses.
        ⇒ Remove it in the gateway. Of the clients that were tried, requests 2.34 cannot
        read the response; openai, httpx and Node's fetch can."""),
    "between.fields_added": proxy.warn("""
        Something adds fields to the responses: {names}.
        ⇒ Clients usually ignore them, but those that check responses strictly refuse
        them. Look for a gateway that enriches responses."""),
    "between.fields_changed": proxy.fail("""
        The responses differ from the contract: {changes}.
        ⇒ Look for a gateway that rewrites or enriches responses. Programs that rely on
        these fields fail or count wrongly."""),
    "between.model_changed": proxy.warn(f"""
        The responses name the model {{model}} instead of {MODEL}.
        ⇒ Look for a gateway that maps names of models. Programs that compare the name
        will complain."""),
    "between.id_changed": proxy.warn("""
        The id of the completion and the header X-Request-Id differ, so something has
        replaced one of them.
        ⇒ The operator needs the original id to find a request. Let the gateway keep
        both."""),
    "between.request_id_removed": proxy.warn("""
        The header X-Request-Id is missing, but only in successful responses.
        ⇒ The operator needs it to find a request. Let the gateway keep the header."""),
    "between.bot_protection": proxy.warn("""
        Bot protection in front of the service sets cookies ({names}).
        → Most programs do not return cookies, and may be blocked later. Ask the
        operator of the service to turn the protection off for the address of the
        API."""),
    "between.cached": proxy.warn("""
        A cache in between answers requests ({sign}).
        ⇒ Exclude the address from caching; every response is marked no-store."""),
    "between.http_1_0": proxy.warn("""
        Something in between responds with HTTP/1.0.
        ⇒ Connections are usually not reused then, which costs time. Turn on HTTP/1.1 in
        the proxy or gateway."""),
}
