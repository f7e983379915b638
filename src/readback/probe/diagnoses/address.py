"""Diagnoses of the address as entered."""

from __future__ import annotations

from readback.contract import VERSION_PREFIX
from readback.probe.diagnoses.templates import fail, ok, warn
from readback.probe.results import Culprit, FailureFamily

_USE = "Use {base_url}; the remaining steps test that address."

ADDRESS = (
    ok("address.ok", "{base_url} is a valid address."),
    fail(
        "address.is_key",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "This looks like a key, not an address.",
        "Pass the address as the argument, and the key in READBACK_API_KEY or with "
        "--key-file. Other users of this machine may have seen the key, so revoke it.",
    ),
    fail(
        "address.spaces",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address contains spaces, quotation marks or invisible characters.",
        _USE,
    ),
    fail(
        "address.no_scheme",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address does not start with https:// or http://.",
        _USE,
    ),
    fail(
        "address.scheme",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The scheme of the address is {scheme}, but the API supports https and http.",
        "Copy the address from the cabinet.",
    ),
    fail(
        "address.host",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The host name or port in the address is missing or invalid.",
        "Copy the address from the cabinet.",
    ),
    fail(
        "address.login",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address contains a user name or password.",
        "The API needs only the key. " + _USE,
    ),
    fail(
        "address.parameter",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address contains a URL parameter or a fragment, which the API refuses.",
        _USE,
    ),
    fail(
        "address.endpoint",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address includes the path of an endpoint, which clients add themselves.",
        _USE,
    ),
    fail(
        "address.doubled",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        f"The address contains {VERSION_PREFIX} twice.",
        _USE,
    ),
    fail(
        "address.no_version",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        f"The address does not end with {VERSION_PREFIX}.",
        _USE,
    ),
    fail(
        "address.slashes",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The path of the address contains an extra slash.",
        _USE,
    ),
    warn(
        "address.trailing_slash",
        Culprit.INPUT,
        "The address ends with a slash, and some clients add a second one.",
        _USE,
    ),
    warn(
        "address.unencrypted",
        Culprit.INPUT,
        "The address starts with http://, so the key is sent unencrypted and anyone on "
        "the network path can read it.",
        "Use https:// if the cabinet shows an https:// address.",
    ),
)
