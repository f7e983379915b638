"""Diagnoses of the key: its form, and whether it is accepted."""

from __future__ import annotations

from readback.keys import PREFIX
from readback.probe.diagnoses.templates import fail, ok, skip
from readback.probe.results import Culprit, FailureFamily

_COPY = (
    "Copy the key again from where you stored it, or create a new one in the cabinet."
)

KEY = (
    ok("key.ok", "{key} has the right format, and its checksum is correct."),
    ok("key.foreign", "This is the key of another service."),
    skip("key.absent", "No key was given."),
    fail(
        "key.none",
        FailureFamily.KEY,
        Culprit.INPUT,
        "No key was given.",
        "Set READBACK_API_KEY or use --key-file. You can create a key in the cabinet.",
    ),
    fail(
        "key.spaces",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key has whitespace or invisible characters around it.",
        "Remove them where the key is stored; the remaining steps ignore them.",
    ),
    fail(
        "key.quoted",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key has quotation marks around it.",
        "Remove them where the key is stored; the remaining steps ignore them.",
    ),
    fail(
        "key.bearer",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key starts with the word Bearer, so clients would send that word twice.",
        "Store only the key itself; the remaining steps ignore the word.",
    ),
    fail(
        "key.mask",
        FailureFamily.KEY,
        Culprit.INPUT,
        "This is the shortened form of a key that lists show, not the key itself.",
        "A key is shown in full only once, when it is created. Create a new one in the "
        "cabinet.",
    ),
    fail(
        "key.prefix",
        FailureFamily.KEY,
        Culprit.INPUT,
        f"This is not a Readback key: those start with {PREFIX}.",
        "It may be a key of another service; it has not been sent. " + _COPY,
    ),
    fail(
        "key.cut",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key is incomplete: {reason}.",
        _COPY,
    ),
    fail(
        "key.long",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key is too long: {reason}.",
        _COPY,
    ),
    fail(
        "key.characters",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key contains a character that is not allowed: {reason}.",
        _COPY,
    ),
    fail(
        "key.typo",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key contains a typo: {reason}.",
        _COPY,
    ),
    ok("key.accepted", "The service accepts the key, which was sent to {sent_to}."),
    fail(
        "key.stripped",
        FailureFamily.KEY,
        Culprit.PROXY,
        "The key does not reach the service: something removes the Authorization "
        "header.",
        "Look for a proxy or gateway that drops the header or uses it for its own "
        "login.",
    ),
    fail(
        "key.refused",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key reaches the service but is not accepted: {detail}",
        "The key may be revoked, expired, or from another Readback server. Check it in "
        "the cabinet, or create a new one there.",
    ),
    fail(
        "key.refused_or_lost",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The service responds to the key as it does without one: {detail}",
        "The key is not accepted, or a proxy or gateway removes the Authorization "
        "header; this service does not tell which. Check the key where it was created. "
        "Key sent to: {sent_to}.",
    ),
    fail(
        "key.refused_elsewhere",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The service does not accept the key: {detail}",
        "Check at the provider whether the key is active and belongs to this service. "
        "Key sent to: {sent_to}.",
    ),
    fail(
        "key.needed",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The service requires a key, and none was given: {detail}",
        "Pass the key of this service with --key-file or --key-env.",
    ),
    fail(
        "key.readback_elsewhere",
        FailureFamily.KEY,
        Culprit.INPUT,
        "This is a Readback key, but {host} is not a Readback, so it was not sent.",
        "Use the key of this service with this address, or copy the address of "
        "Readback from the cabinet.",
    ),
    fail(
        "key.other_refusal",
        FailureFamily.KEY,
        Culprit.PROXY,
        "Something in front of the service requires its own login ({status}).",
        "Ask the operator how to get access.",
    ),
)
