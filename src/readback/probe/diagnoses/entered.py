"""Diagnoses of what was entered: the address, and the key."""

from __future__ import annotations

from readback.contract import VERSION_PREFIX
from readback.keys import PREFIX
from readback.probe.common.results import Diagnosis
from readback.probe.diagnoses.templates import entered, ok, proxy, skip

_USE = "Use {base_url}; the remaining steps test that address."
_COPY_ADDRESS = "Copy the address from the cabinet or from the service's documentation."
_REVOKE = "Other users of this machine may have seen the key, so revoke it."
_EXPAND = "A shell does not expand variables inside single quotation marks."
_COPY_KEY = (
    "Copy the key again from where you stored it, or create a new one in the cabinet."
)
_STORE = "Store only the key itself; that is what the remaining steps use."


def _corrected(sentence: str) -> Diagnosis:
    return entered.fail(sentence, _USE)


# The most important mistakes first.
ADDRESS = {
    # These leave no address that the remaining steps could test.
    "address.is_key": entered.fail(f"""
        This looks like a key, not an address.
        → Pass the address as the argument, and the key in READBACK_API_KEY or with
        --key-file. {_REVOKE}"""),
    "address.has_key": entered.fail(f"""
        The host name or path of the address contains what looks like a key.
        → Enter the address without the key. {_REVOKE}"""),
    "address.unclear_login": entered.fail("""
        The address contains an @ after the host name, so it may contain a password with
        a slash.
        → Enter the address without a user name and password."""),
    "address.word": entered.fail(f"""
        This is a single word, not an address.
        → An address looks like https://host.example{VERSION_PREFIX}.
        {_COPY_ADDRESS}"""),
    "address.email": entered.fail(f"""
        This is an e-mail address, not the address of an API.
        → {_COPY_ADDRESS}"""),
    "address.file": entered.fail(f"""
        This is a path, not the address of an API.
        → {_COPY_ADDRESS}"""),
    "address.placeholder": entered.fail(f"""
        The address contains a placeholder or the name of a variable instead of its
        value.
        → Replace what is in brackets or begins with a dollar sign. {_EXPAND}"""),
    "address.several": entered.fail("""
        This text contains {count} different addresses.
        → Enter only one of them."""),
    "address.long": entered.fail(f"""
        This text is too long for an address: it has {{length}} characters.
        → {_COPY_ADDRESS}"""),
    "address.bytes": entered.fail("""
        The address contains bytes that are not valid text in the encoding of this
        terminal.
        → Type the address, or set the locale of the terminal to UTF-8."""),
    "address.scheme": entered.fail(f"""
        The scheme of the address is {{scheme}}, but an API uses https or http.
        → {_COPY_ADDRESS}"""),
    "address.port": entered.fail(f"""
        The port in the address is not a number from 1 to 65535.
        → {_COPY_ADDRESS}"""),
    "address.two_ports": entered.fail("""
        The address contains two different ports.
        → Remove the port that does not belong to the service."""),
    "address.ipv6": entered.fail(f"""
        The IPv6 address has no brackets, so it is not clear where it ends and the port
        begins.
        → Put it in brackets, as in http://[::1]:8000{VERSION_PREFIX}."""),
    "address.ops_port": entered.fail("""
        Port {port} is Readback's operations port, for health checks and metrics; the
        API is on another port.
        → Copy the address of the API from the cabinet, or ask the operator of the
        service for it."""),
    "address.host": entered.fail(f"""
        The host name in the address is missing or invalid.
        → {_COPY_ADDRESS}"""),
    # These are corrected.
    "address.contains_key": entered.fail(f"""
        The address contains what looks like a key.
        → Pass a key in READBACK_API_KEY or with --key-file. {_REVOKE} {_USE}"""),
    "address.login": entered.fail(f"""
        The address contains a user name or password.
        → An API of this kind needs only the key. {_USE}"""),
    "address.letters": entered.fail(f"""
        The address contains a character that only looks like an ASCII letter:
        {{letter}} ({{script}}).
        → {_USE} If the name really contains that letter, enter the name in its xn--
        form."""),
    "address.invisible": entered.fail(f"""
        The address contains invisible characters: {{characters}}.
        → Type the address instead of pasting it. {_USE}"""),
    "address.assignment": entered.fail(f"""
        The address has the name of a setting in front of it.
        → Enter only the value. {_USE}"""),
    "address.surrounded": _corrected(
        "There is other text before or after the address."
    ),
    "address.markdown": _corrected("""
        The address has Markdown around it: link syntax, angle brackets, backticks or
        asterisks."""),
    "address.quoted": _corrected("The address has quotation marks around it."),
    "address.brackets": _corrected("The address has brackets around it."),
    "address.percent_encoded": _corrected("""
        The address is percent-encoded, or has an encoded space at its end."""),
    "address.spaces": _corrected("The address contains spaces or line breaks."),
    "address.punctuation": _corrected("""
        The address has a punctuation mark before or after it."""),
    "address.backslashes": _corrected("""
        The address contains backslashes instead of slashes."""),
    "address.doubled_scheme": _corrected("""
        The address contains https:// or http:// twice."""),
    "address.scheme_typo": _corrected("""
        The scheme at the start of the address is misspelt."""),
    "address.scheme_slashes": _corrected("""
        The :// after the scheme of the address is incomplete."""),
    "address.no_scheme": _corrected("""
        The address does not start with https:// or http://."""),
    "address.defanged": _corrected("""
        The address is written so that it cannot be clicked, as security tools do: with
        hxxp, or with dots in brackets."""),
    "address.wrapped": _corrected("""
        The address is a link of a mail filter or web service that redirects to the
        address of the API."""),
    "address.doubled_port": _corrected("The address contains its port twice."),
    "address.parameter": _corrected("""
        The address ends with a URL parameter or a fragment, but clients append their
        own paths to it."""),
    "address.endpoint": _corrected("""
        The address includes the path of an endpoint, which clients add themselves."""),
    "address.doubled": _corrected("The address contains its version twice."),
    "address.version_case": _corrected("The version in the address has a capital V."),
    "address.version_letter": _corrected(f"""
        The version in the address ends with a letter or a vertical bar instead of the
        digit; it should be {VERSION_PREFIX}."""),
    "address.no_version": _corrected(
        f"The address does not end with {VERSION_PREFIX}."
    ),
    "address.other_version": _corrected(f"""
        The address ends with a version other than {VERSION_PREFIX}."""),
    "address.other_path": _corrected("""
        There is no API at this path, but there is one at another path of the same
        host."""),
    "address.slashes": _corrected("The path of the address contains an extra slash."),
    "address.mixed_letters": entered.warn("""
        The host name mixes Latin letters with another script: {letter} ({script}).
        → Check that this is the name you mean. The remaining steps test
        {base_url}."""),
    "address.listen": entered.warn("""
        This address means “all addresses of this machine”: a server can listen on it,
        but not every program can connect to it.
        → On the server itself, use {base_url}; on other machines, use the server's
        name."""),
    "address.trailing_slash": entered.warn(f"""
        The address ends with a slash, and some clients add a second one.
        → {_USE}"""),
    "address.unencrypted": entered.warn("""
        The address starts with http://, so the key is sent unencrypted and anyone on
        the network path can read it.
        → Use https:// if the service has an https:// address."""),
    "address.ok": ok("{base_url} is a valid address."),
}

# What the step "key" finds, the most important mistakes first, then the service.
KEY = {
    # No key is left that could be sent.
    "key.none": entered.fail("""
        No key was given.
        → Set READBACK_API_KEY or use --key-file. You can create a key in the
        cabinet."""),
    "key.variable": entered.fail(f"""
        The name of a variable was given instead of the key.
        → Use the value of the variable. {_EXPAND}"""),
    "key.mask": entered.fail("""
        This is the shortened form of a key, as lists show it, not the key itself.
        → A key is shown in full only once, when it is created. Create a new one in the
        cabinet."""),
    "key.cut": entered.fail("The key is incomplete: {reason}.", _COPY_KEY),
    "key.long": entered.fail("The key is too long: {reason}.", _COPY_KEY),
    "key.one_case": entered.fail(f"""
        All letters of the key have the same case: something has converted it to upper
        or lower case.
        → The original letters cannot be restored. {_COPY_KEY}"""),
    "key.script": entered.fail(f"""
        The key contains a letter of another script ({{script}}).
        → {_COPY_KEY}"""),
    "key.characters": entered.fail(f"""
        The key contains a character that is not allowed: {{reason}}.
        → {_COPY_KEY}"""),
    "key.typo": entered.fail("The key contains a typo: {reason}.", _COPY_KEY),
    "key.unsendable": entered.fail("""
        The key contains {problem}, which cannot be sent in a request header.
        → Copy the key again, in one piece and without anything around it."""),
    "key.prefix": entered.fail(f"""
        This is not a Readback key: Readback keys start with {PREFIX}.
        → It may be a key of another service; it has not been sent. {_COPY_KEY}"""),
    # The key itself was found, and the remaining steps use it.
    "key.several": entered.fail("""
        {count} different keys were pasted.
        → Store only one of them; the remaining steps use the first, {key}."""),
    "key.twice": entered.fail("The key was pasted more than once.", _STORE),
    "key.letters": entered.fail("""
        The key contains a letter of another script ({script}) that looks like an ASCII
        letter.
        → Copy the key again. With the ASCII letter, its checksum is correct, so the
        remaining steps use the key in that form."""),
    "key.dash": entered.fail("""
        A hyphen in the key was replaced with a dash, as word processors do.
        → Copy the key again; the remaining steps use it with hyphens."""),
    "key.case": entered.fail("""
        The case of letters in the key was changed.
        → Copy the key again, and check Caps Lock and automatic capitalization. The
        remaining steps use the key in the form for which its checksum is correct."""),
    "key.invisible": entered.fail(f"""
        There are invisible characters in or around the key: {{characters}}.
        → {_STORE}"""),
    "key.broken": entered.fail("""
        There is a line break or a space inside the key.
        → Store the key in one piece, on one line; that is how the remaining steps use
        it."""),
    "key.base64": entered.fail("""
        The key is encoded in Base64, as in a Kubernetes secret.
        → Store the decoded key; the remaining steps use it."""),
    "key.percent_encoded": entered.fail("""
        The key, or what is around it, is percent-encoded as in a URL.
        → Store the decoded key; the remaining steps use it."""),
    "key.json": entered.fail("The key is inside a piece of JSON.", _STORE),
    "key.export": entered.fail("""
        The key has a command in front of it that sets a variable, such as export.
        → Run that command in a shell, or store only the key itself; that is what the
        remaining steps use."""),
    "key.assignment": entered.fail(f"""
        The key has the name of a setting in front of it.
        → {_STORE}"""),
    "key.header": entered.fail(f"""
        The whole Authorization header was pasted, not only the key.
        → {_STORE}"""),
    "key.bearer": entered.fail(f"""
        The key starts with the word Bearer, so clients would send that word twice.
        → {_STORE}"""),
    "key.quoted": entered.fail(f"""
        The key has quotation marks around it.
        → Not every program removes quotation marks from a settings file. {_STORE}"""),
    "key.brackets": entered.fail("The key has brackets around it.", _STORE),
    "key.punctuation": entered.fail("The key has a punctuation mark after it.", _STORE),
    "key.extra": entered.fail(f"""
        There are extra characters directly before or after the key.
        → {_STORE}"""),
    "key.surrounded": entered.fail(f"""
        There is other text before or after the key.
        → {_STORE}"""),
    "key.spaces": entered.fail("The key has spaces or line breaks around it.", _STORE),
    # What becomes of it.
    "key.ok": ok("{key} has the right format, and its checksum is correct."),
    "key.absent": skip("No key was given."),
    "key.foreign": skip(f"""
        This is not a Readback key, which would start with {PREFIX}. It is sent only if
        another API responds at the address."""),
    "key.accepted": ok("The service accepts the key, which was sent to {sent_to}."),
    "key.stripped": proxy.fail("""
        The key does not reach the service: something removes the Authorization header.
        ⇒ Look for a proxy or gateway that drops the header or uses it for its own
        login."""),
    "key.refused": entered.fail("""
        The key reaches the service but is not accepted: {detail}
        → The key may be revoked, expired, or from another Readback server. Check it in
        the cabinet, or create a new one there."""),
    "key.refused_or_lost": entered.fail("""
        The service responds in the same way with the key and without one: {detail}
        → Either the key is not accepted, or a proxy or gateway removes the
        Authorization header; this service does not say which. Check the key where it
        was created. Key sent to: {sent_to}."""),
    "key.refused_elsewhere": entered.fail("""
        The service does not accept the key: {detail}
        → Check at the provider whether the key is active and belongs to this service.
        Key sent to: {sent_to}."""),
    "key.needed": entered.fail("""
        The service requires a key, and none was given: {detail}
        → Pass the key of this service with --key-file or --key-env."""),
    "key.readback_elsewhere": entered.fail("""
        This is a Readback key, but {host} is not a Readback, so the key was not sent.
        Without a key, {host} responds with {said}.
        → Use the key of this service with this address, or copy the address of Readback
        from the cabinet. If Readback is behind a gateway with a login of its own, ask
        the operator of the service how programs get through it."""),
    "key.other_refusal": proxy.fail("""
        Something in front of the service requires its own login: {status} {title}.
        → Ask the operator of the service how to get access."""),
}
