"""Diagnoses of the key: what was pasted, its form, and whether it is accepted.

The mistakes that the step "key" finds are sorted by importance.
"""

from __future__ import annotations

from readback.keys import PREFIX
from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import ok, rows, skip

entered, proxy = rows(FailureFamily.KEY, Culprit.INPUT, Culprit.PROXY)

_COPY = (
    "Copy the key again from where you stored it, or create a new one in the cabinet."
)
_STORE = "Store only the key itself, as the remaining steps use it."

# No key is left that could be sent.
_UNUSABLE = (
    entered.fail(
        "key.none",
        "No key was given.",
        "Set READBACK_API_KEY or use --key-file. You can create a key in the cabinet.",
    ),
    entered.fail(
        "key.variable",
        "The name of a variable was given instead of the key.",
        "Use the value of the variable. In a shell, a variable is not replaced inside "
        "single quotation marks.",
    ),
    entered.fail(
        "key.mask",
        "This is the shortened form of a key that lists show, not the key itself.",
        "A key is shown in full only once, when it is created. Create a new one in the "
        "cabinet.",
    ),
    entered.fail("key.cut", "The key is incomplete: {reason}.", _COPY),
    entered.fail("key.long", "The key is too long: {reason}.", _COPY),
    entered.fail(
        "key.one_case",
        "All letters of the key have the same case, so capital letters were changed.",
        "Something converted the key to lower or upper case, and its letters cannot be "
        "restored. " + _COPY,
    ),
    entered.fail(
        "key.script", "The key contains a letter of another script ({script}).", _COPY
    ),
    entered.fail(
        "key.characters",
        "The key contains a character that is not allowed: {reason}.",
        _COPY,
    ),
    entered.fail("key.typo", "The key contains a typo: {reason}.", _COPY),
    entered.fail(
        "key.unsendable",
        "The key contains {problem}, which cannot be sent in a request header.",
        "Copy the key again, in one piece and without anything around it.",
    ),
    entered.fail(
        "key.prefix",
        f"This is not a Readback key: those start with {PREFIX}.",
        "It may be a key of another service; it has not been sent. " + _COPY,
    ),
)

# The key itself was found, and the remaining steps use it.
_CORRECTED = (
    entered.fail(
        "key.several",
        "{count} different keys were pasted.",
        "Store only one of them; the remaining steps use the first, {key}.",
    ),
    entered.fail("key.twice", "The key was pasted more than once.", _STORE),
    entered.fail(
        "key.letters",
        "The key contains a letter of another script ({script}) that looks like an "
        "ASCII letter.",
        "Copy the key again. With the ASCII letter its checksum is correct, so the "
        "remaining steps use that key.",
    ),
    entered.fail(
        "key.dash",
        "A hyphen of the key was replaced by another dash, as word processors do.",
        "Copy the key again; the remaining steps use it with hyphens.",
    ),
    entered.fail(
        "key.case",
        "Capital and small letters of the key were exchanged.",
        "Copy the key again, and look at Caps Lock and automatic capitals. The "
        "remaining steps use the key with the letters for which its checksum is "
        "correct.",
    ),
    entered.fail(
        "key.invisible",
        "There are invisible characters in or around the key: {characters}.",
        _STORE,
    ),
    entered.fail(
        "key.broken",
        "There is a line break or a space inside the key.",
        "Store the key in one piece, on one line, as the remaining steps use it.",
    ),
    entered.fail(
        "key.base64",
        "The key is encoded in Base64, as in a Kubernetes secret.",
        "Store the decoded key; the remaining steps use it.",
    ),
    entered.fail(
        "key.percent_encoded",
        "The key, or what is around it, is percent-encoded as in a URL.",
        "Store the decoded key; the remaining steps use it.",
    ),
    entered.fail("key.json", "The key is inside a piece of JSON.", _STORE),
    entered.fail(
        "key.export",
        "The key has a command in front of it that sets a variable, such as export.",
        "Run that command in the shell, or store only the key itself, as the remaining "
        "steps use it.",
    ),
    entered.fail(
        "key.assignment", "The key has the name of a setting in front of it.", _STORE
    ),
    entered.fail(
        "key.header",
        "The whole Authorization header was pasted, not only the key.",
        _STORE,
    ),
    entered.fail(
        "key.bearer",
        "The key starts with the word Bearer, so clients would send that word twice.",
        _STORE,
    ),
    entered.fail(
        "key.quoted",
        "The key has quotation marks around it.",
        "Not every program removes quotation marks from a file of settings. " + _STORE,
    ),
    entered.fail("key.brackets", "The key has brackets around it.", _STORE),
    entered.fail("key.punctuation", "The key has a punctuation mark after it.", _STORE),
    entered.fail(
        "key.extra",
        "There are extra characters directly before or after the key.",
        _STORE,
    ),
    entered.fail(
        "key.surrounded", "There is other text before or after the key.", _STORE
    ),
    entered.fail("key.spaces", "The key has spaces or line breaks around it.", _STORE),
)

KEY = (
    *_UNUSABLE,
    *_CORRECTED,
    ok("key.ok", "{key} has the right format, and its checksum is correct."),
    skip("key.absent", "No key was given."),
    skip(
        "key.foreign",
        f"This is not a Readback key, which would start with {PREFIX}. It is sent only "
        "if another API responds at the address.",
    ),
    ok("key.accepted", "The service accepts the key, which was sent to {sent_to}."),
    proxy.fail(
        "key.stripped",
        "The key does not reach the service: something removes the Authorization "
        "header.",
        "Look for a proxy or gateway that drops the header or uses it for its own "
        "login.",
    ),
    entered.fail(
        "key.refused",
        "The key reaches the service but is not accepted: {detail}",
        "The key may be revoked, expired, or from another Readback server. Check it in "
        "the cabinet, or create a new one there.",
    ),
    entered.fail(
        "key.refused_or_lost",
        "The service responds to the key as it does without one: {detail}",
        "The key is not accepted, or a proxy or gateway removes the Authorization "
        "header; this service does not tell which. Check the key where it was created. "
        "Key sent to: {sent_to}.",
    ),
    entered.fail(
        "key.refused_elsewhere",
        "The service does not accept the key: {detail}",
        "Check at the provider whether the key is active and belongs to this service. "
        "Key sent to: {sent_to}.",
    ),
    entered.fail(
        "key.needed",
        "The service requires a key, and none was given: {detail}",
        "Pass the key of this service with --key-file or --key-env.",
    ),
    entered.fail(
        "key.readback_elsewhere",
        "This is a Readback key, but {host} is not a Readback, so it was not sent.",
        "Use the key of this service with this address, or copy the address of "
        "Readback from the cabinet.",
    ),
    proxy.fail(
        "key.other_refusal",
        "Something in front of the service requires its own login ({status}).",
        "Ask the operator how to get access.",
    ),
)
