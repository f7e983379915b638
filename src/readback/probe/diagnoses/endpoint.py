"""Diagnoses of an endpoint that is not a Readback, and of other programs here.

The versions that a sentence about another program holds for are in the lines below it;
they come from the table in `clients.comparison`.
"""

from readback.probe.diagnoses.templates import (
    entered,
    library,
    machine,
    ok,
    proxy,
    service,
    skip,
)

_ASK_FOR_COMPLETION = "To find out, ask for a short completion with --chat MODEL."
_TAKEN = "The first part took {first}; all {parts} parts took {total}."

ENDPOINT = {
    "endpoint.open": ok("""
        The models are listed without a key: the service needs none, or checks it only
        for completions. Key sent to: {sent_to}."""),
    "endpoint.no_models": entered.warn(f"""
        The service offers chat completions but no list of models ({{status}}), so it is
        unknown whether it accepts the key.
        → Nothing is wrong so far. {_ASK_FOR_COMPLETION}"""),
    "endpoint.no_models_chat": ok("""
        The service offers chat completions but no list of models ({status})."""),
    "endpoint.forbidden": entered.fail("""
        The service refuses the request with 403: {detail}
        → Check at the provider which permissions the key has. The service may also be
        unavailable in this country or network. Key sent to: {sent_to}."""),
    "endpoint.quota": entered.fail("""
        The account of the key has no quota left ({status}): {detail}
        → Check the balance and the limits of the account at the provider."""),
    "endpoint.rate_limited": machine.fail("""
        The service reports too many requests: {detail}
        → Wait {wait} s and try again. The limit counts every program that uses the same
        key or network address, including the probe. If it keeps happening, look at the
        limits of the account at the provider."""),
    "endpoint.unavailable": service.fail("""
        The service responded with {status}: {detail}
        → It is overloaded, starting or failing. Try again in a few minutes. If it still
        fails, tell its operator."""),
    "endpoint.refused": entered.fail("""
        The service refused the request with {status}: {detail}
        → Compare the address and the model with the service's documentation."""),
    "models.listed": ok("{count} models are listed: {names}."),
    "models.has_model": ok("The model {model} is listed, one of {count}."),
    "models.no_model": entered.warn("""
        The model {model} is not listed. Similar names: {near}.
        → Check the name letter by letter. A service may offer models that it does not
        list."""),
    "models.unreadable": service.warn("""
        The list of models cannot be read: it has an unexpected form or is larger than 1
        MiB.
        → Completions are not affected. Enter the name of the model by hand."""),
    "models.form": service.warn("""
        The list of models is a bare list, not an object with `data`.
        → Programs that use an OpenAI library to list models fail here; completions are
        not affected. Enter the name of the model by hand."""),
    "chat.completed": ok("""
        The model completed a text: {prompt_tokens} tokens sent, {completion_tokens}
        received."""),
    "chat.unmeasured": ok("""
        The model completed a text; the response does not say how many tokens it
        took."""),
    "chat.form": service.fail("""
        The response to a request for a completion is not a completion.
        → Programs that use an OpenAI library cannot read it. Compare the address with
        the service's documentation."""),
    "chat.no_model": entered.fail("""
        The service does not offer the model {model}: {said}. Similar names: {near}.
        → Use a name from the list of models; the key may also have no access to this
        model."""),
    "chat.no_path": entered.fail("""
        There are no chat completions at this address: {status} {said}.
        → Compare the path of the address with the service's documentation."""),
    "stream.ok": ok(f"The stream arrived in parts and was complete. {_TAKEN}"),
    "stream.together": proxy.warn("""
        All {parts} parts of the stream arrived together, after {total}.
        ⇒ A proxy or gateway collects the response before it passes it on. Turn off
        response buffering there, such as `proxy_buffering` in nginx."""),
    "stream.ignored": service.warn("""
        The service ignores `stream` and responds in one piece.
        → Programs that show the text while it arrives have to wait for all of it, or
        fail. Turn streaming off in your program."""),
    "stream.unfinished": service.warn(f"""
        The stream ended without its last line, [DONE]. {_TAKEN}
        → Programs that wait for that line report an error. Turn streaming off in your
        program, and tell the operator: the service does not send the line, or a proxy
        with a time limit ends the response."""),
    "stream.error": service.fail("""
        The stream contains an error: {detail}
        → Try again. If it happens again, tell the operator."""),
    "stream.form": service.fail("""
        The response to a request for a stream contains no part of a completion.
        → Programs that use an OpenAI library cannot read it. Turn streaming off in your
        program, and tell the operator: a proxy may change responses."""),
}
CLIENTS = {
    "clients.agree": ok("The programs that the probe knows would all connect {way}."),
    "clients.proxy_differs": machine.warn("""
        Programs reach this address in different ways. {who}.
        → Set {lower} and {upper} to the same value, with http:// in front, and list
        excluded hosts in no_proxy and NO_PROXY by their full names, separated by
        commas. Node 24 or newer also needs NODE_USE_ENV_PROXY=1; Java needs
        -D{scheme}.proxyHost and -D{scheme}.proxyPort in JAVA_TOOL_OPTIONS."""),
    "clients.proxy_for_loopback": machine.warn("""
        Some programs would send requests for this machine itself to a proxy. {who}.
        → Add localhost, 127.0.0.1 and ::1 to no_proxy and NO_PROXY, separated by
        commas."""),
    "clients.proxy_unusable": machine.warn("""
        Some programs fail with the proxy settings of this machine. {who}.
        → Write the proxy as http://host:port, and exclude hosts in NO_PROXY by their
        names or addresses, without IPv6 networks and brackets."""),
    "clients.store_differs": machine.warn("""
        Only some programs read the private certificates that a variable names. {who}.
        Without them: {without}.
        → If the service's certificate comes from your company's certificate authority,
        set SSL_CERT_FILE, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE and NODE_EXTRA_CA_CERTS to
        the same file, and import the authority into Java's cacerts."""),
    "clients.store_unusable": machine.warn("""
        Some programs fail because of a certificate setting. {who}.
        → Set the variable to a readable file with certificates in PEM format, or unset
        it."""),
    "clients.netrc": machine.warn("""
        Python's requests (2.34.2) replaces the key: {file} has a login for {host},
        which it sends as the Authorization header.
        → Remove that entry, or pass auth=… to requests. The other programs ignore the
        file."""),
    "clients.base_url_variable": machine.warn("""
        OPENAI_BASE_URL names {url}, not the address that was tested.
        → The openai package (1.109.1 to 3.49.0) goes there unless your program passes
        base_url. Set OPENAI_BASE_URL to {target}, or unset it."""),
    "clients.env_file": machine.warn("""
        The file .env in this folder sets OPENAI_BASE_URL to {url}, not to the address
        that was tested.
        → The openai package does not read .env, but a program that loads the file, for
        example with python-dotenv, goes there. Set it to {target}."""),
    "clients.base_url_missing": machine.warn("""
        OPENAI_API_KEY holds {key}, but OPENAI_BASE_URL is not set.
        → The openai package (1.109.1 to 3.49.0) sends that key to its default address
        unless your program passes base_url. Set OPENAI_BASE_URL to {target}."""),
    "clients.key_variable": machine.warn("""
        OPENAI_BASE_URL names this address, but OPENAI_API_KEY holds {held}, not the key
        that was tested.
        → The openai package (1.109.1 to 3.49.0) sends it unless your program passes
        api_key. Set OPENAI_API_KEY to the key {key}."""),
    "clients.headers_variable": machine.warn("""
        OPENAI_CUSTOM_HEADERS contains an Authorization header, which replaces the key
        in the openai package (2.54.0 and 3.49.0).
        → Remove that line from OPENAI_CUSTOM_HEADERS."""),
    "run.same": ok("All programs on this machine got the same result: {outcome}."),
    "run.no_response": skip("""
        The programs on this machine get no response either.
        → First fix what failed above."""),
    "run.none": skip("""
        None of the programs was found: curl, node, go, java, and Python with requests,
        httpx or openai."""),
    "run.differs": library.fail("""
        Programs on this machine got different results. {outcomes}.
        → Compare the settings of those that fail with those that work; the step “other
        programs” says which settings each of them reads."""),
}
