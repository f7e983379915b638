"""The security headers of every answer, including those that Django does not create.

Nothing here imports Django, because the server refuses some requests without it.
"""

from readback.config import Config

HSTS_SECONDS = 31_536_000

# Browsers load only our own files, and nothing inline, so injected scripts do not run.
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def headers_of(config: Config) -> dict[str, str]:
    """Return the headers, with a year of HSTS if the cabinet uses HTTPS."""
    if config.effective_cabinet_url.startswith("https:"):
        return _HEADERS | {"Strict-Transport-Security": f"max-age={HSTS_SECONDS}"}
    return _HEADERS
