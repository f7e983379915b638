"""The step "other programs": local settings that override the address or key.

The report names a setting but never shows its value, except for a masked Readback key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, ProbeError, as_warning
from readback.probe.connection import certificates, stores, tls
from readback.probe.entered import API_KEY_VARIABLE, URL_VARIABLE, address
from readback.probe.entered.key import Secret
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.handshake import shake


def check(context: ProbeContext) -> list[Diagnosis]:
    return [*_openai_differences(context), *_certificates(context)]


def _openai_differences(context: ProbeContext) -> Iterator[Diagnosis]:
    target = context.base_url
    key = context.secret
    url = os.environ.get(URL_VARIABLE, "").strip()
    named = None
    with suppress(ProbeError):
        found, mistakes = address.parse(url)
        named = None if mistakes else found
    held = Secret(os.environ.get(API_KEY_VARIABLE, "").strip())
    if url and named != target:
        what = say("names_another_url", variable=URL_VARIABLE)
        yield diagnose("clients.base_url_variable", what=what, target=str(target))
    entered = key.reveal().strip()
    if named == target and held and entered and held.reveal() not in entered:
        what = say("holds_another_key", variable=API_KEY_VARIABLE)
        yield diagnose("clients.key_variable", what=what, key=key.mask)


def _certificates(context: ProbeContext) -> Iterator[Diagnosis]:
    # The step "TLS" checks SSL_CERT_FILE and SSL_CERT_DIR.
    for variable in stores.OTHER_VARIABLES if context.base_url.is_encrypted else ():
        path = os.environ.get(variable, "")
        if path and (reason := stores.why_unusable(path) or _lacks(context, variable)):
            facts = {"variable": variable, "path": sanitize(path), "reason": reason}
            yield as_warning(diagnose("tls.store", **facts))


def _lacks(context: ProbeContext, variable: str) -> str:
    """Return which authority the file lacks to verify the server, or ""."""
    trust = dict(stores.of_others()).get(variable)
    # Node.js adds the file to its own list of authorities.
    if trust is None or context.trusted is None or variable.startswith("NODE_"):
        return ""
    with suppress(ProbeError):
        seen = shake(context.route, trust, context.timeout, context.base_url.host)
        if seen.verification_error and tls.is_unknown(seen):
            issuer = certificates.read_chain(seen.chain)[0].issuer
            return say("lacks_issuer", issuer=issuer)
    return ""
