"""Diagnoses of the address as entered, the most important first."""

from __future__ import annotations

from readback.contract import VERSION_PREFIX
from readback.probe.common.results import Culprit, Diagnosis, FailureFamily
from readback.probe.diagnoses.templates import ok, rows

(entered,) = rows(FailureFamily.ADDRESS, Culprit.INPUT)

_USE = "Use {base_url}; the remaining steps test that address."
_COPY = "Copy the address from the cabinet or from the service's documentation."
_REVOKE = "Other users of this machine may have seen the key, so revoke it."


def _mistake(id: str, sentence: str, hint: str = _USE) -> Diagnosis:
    return entered.fail(id, sentence, hint)


# These leave no address that the remaining steps could test.
_UNUSABLE = (
    _mistake(
        "address.is_key",
        "This looks like a key, not an address.",
        "Pass the address as the argument, and the key in READBACK_API_KEY or with "
        "--key-file. " + _REVOKE,
    ),
    _mistake(
        "address.has_key",
        "The host or path of the address contains what looks like a key.",
        "Enter the address without the key. " + _REVOKE,
    ),
    _mistake(
        "address.unclear_login",
        "The address contains an @ after the host, as if it had a password with a "
        "slash.",
        "Enter the address without a user name and password.",
    ),
    _mistake(
        "address.word",
        "This is a single word, not an address.",
        f"An address has a form such as https://host.example{VERSION_PREFIX}. " + _COPY,
    ),
    _mistake("address.email", "This is an e-mail address, not that of an API.", _COPY),
    _mistake("address.file", "This is a path, not the address of an API.", _COPY),
    _mistake(
        "address.placeholder",
        "The address contains a placeholder or the name of a variable instead of its "
        "value.",
        "Replace what is in brackets or begins with a dollar sign. In a shell, a "
        "variable is not replaced inside single quotation marks.",
    ),
    _mistake(
        "address.several",
        "This text contains {count} different addresses.",
        "Enter only one of them.",
    ),
    _mistake(
        "address.long",
        "This text has {length} characters and is too long for an address.",
        _COPY,
    ),
    _mistake(
        "address.bytes",
        "The address contains bytes that are not valid text in this environment.",
        "Type the address, or set the locale of the terminal to UTF-8.",
    ),
    _mistake(
        "address.scheme",
        "The scheme of the address is {scheme}, but an API uses https or http.",
        _COPY,
    ),
    _mistake(
        "address.port",
        "The port in the address is not a number from 1 to 65535.",
        _COPY,
    ),
    _mistake(
        "address.two_ports",
        "The address contains two different ports.",
        "Remove the port that does not belong to the service.",
    ),
    _mistake(
        "address.ipv6",
        "The IPv6 address has no brackets, so its end and the port cannot be told "
        "apart.",
        f"Write it as in http://[::1]:8000{VERSION_PREFIX}.",
    ),
    _mistake(
        "address.host", "The host name in the address is missing or invalid.", _COPY
    ),
)

ADDRESS = (
    *_UNUSABLE,
    _mistake(
        "address.contains_key",
        "The address contains what looks like a key.",
        "Pass a key in READBACK_API_KEY or with --key-file. " + _REVOKE + " " + _USE,
    ),
    _mistake(
        "address.login",
        "The address contains a user name or password.",
        "An API of this kind needs only the key. " + _USE,
    ),
    _mistake(
        "address.letters",
        "A character in the address only looks like an ASCII one: {letter} ({script}).",
        _USE + " If the name really has that letter, enter its xn-- form.",
    ),
    _mistake(
        "address.invisible",
        "The address contains invisible characters: {characters}.",
        "Type the address instead of pasting it. " + _USE,
    ),
    _mistake(
        "address.assignment",
        "The address has the name of a setting in front of it.",
        "Enter only the value. " + _USE,
    ),
    _mistake("address.surrounded", "There is other text before or after the address."),
    _mistake(
        "address.markdown",
        "The address has Markdown around it: link syntax, angle brackets, backticks or "
        "asterisks.",
    ),
    _mistake("address.quoted", "The address has quotation marks around it."),
    _mistake("address.brackets", "The address has brackets around it."),
    _mistake(
        "address.percent_encoded",
        "The address is percent-encoded, or has an encoded space at its end.",
    ),
    _mistake("address.spaces", "The address contains spaces or line breaks."),
    _mistake(
        "address.punctuation", "The address has a punctuation mark before or after it."
    ),
    _mistake(
        "address.backslashes", "The address contains backslashes instead of slashes."
    ),
    _mistake(
        "address.doubled_scheme", "The address contains https:// or http:// twice."
    ),
    _mistake(
        "address.scheme_typo", "The scheme at the start of the address is misspelt."
    ),
    _mistake(
        "address.scheme_slashes",
        "The colon and the two slashes after the scheme of the address are not "
        "complete.",
    ),
    _mistake(
        "address.no_scheme", "The address does not start with https:// or http://."
    ),
    _mistake("address.doubled_port", "The address contains its port twice."),
    _mistake(
        "address.parameter",
        "The address contains a URL parameter or a fragment, but clients add their "
        "paths at its end.",
    ),
    _mistake(
        "address.endpoint",
        "The address includes the path of an endpoint, which clients add themselves.",
    ),
    _mistake("address.doubled", "The address contains its version twice."),
    _mistake("address.version_case", "The version in the address has a capital V."),
    _mistake(
        "address.version_letter",
        f"The version in the address ends with a letter or a line instead of the digit "
        f"of {VERSION_PREFIX}.",
    ),
    _mistake("address.no_version", f"The address does not end with {VERSION_PREFIX}."),
    _mistake(
        "address.other_version",
        f"The address ends with another version than {VERSION_PREFIX}.",
    ),
    _mistake("address.slashes", "The path of the address contains an extra slash."),
    entered.warn(
        "address.mixed_letters",
        "The host name mixes Latin letters with another script: {letter} ({script}).",
        "Check that you trust this name: {base_url} is tested.",
    ),
    entered.warn(
        "address.listen",
        "The address of the host means “all addresses of this machine”: a server "
        "listens on it, but not every program can connect to it.",
        "Use {base_url} on the server's own machine, and the server's name elsewhere.",
    ),
    entered.warn(
        "address.trailing_slash",
        "The address ends with a slash, and some clients add a second one.",
        _USE,
    ),
    entered.warn(
        "address.unencrypted",
        "The address starts with http://, so the key is sent unencrypted and anyone on "
        "the network path can read it.",
        "Use https:// if the service has an https:// address.",
    ),
    ok("address.ok", "{base_url} is a valid address."),
)
