"""The check of an ID token, by the rules of OpenID Connect Core 1.0, section 3.1.3.7.

allauth neither sends a nonce nor verifies the signature of a token that it got from the
provider's token endpoint itself, and without a token it trusts the userinfo alone. Here
every token is needed and checked in full.
"""

from hmac import compare_digest
from typing import Any

import jwt

from readback.cabinet.single_sign_on import provider_documents
from readback.cabinet.single_sign_on.provider_documents import ProviderError

# Only signatures with a private key. "none" proves nothing, and for the HS family the
# key would be the client secret.
_ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
    | {"ES256", "ES384", "ES512", "EdDSA"}
)
# The clocks of two machines differ.
LEEWAY_SECONDS = 60


def claims_of(
    token: object, *, issuer: str, client_id: str, nonce: str
) -> dict[str, Any]:
    """Return the claims; raise `ProviderError` if the token is not for this login."""
    if not isinstance(token, str):
        raise ProviderError("it sent no ID token")
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            _key_of(token, issuer),
            algorithms=sorted(_ALGORITHMS),
            audience=client_id,
            issuer=provider_documents.configuration(issuer)["issuer"],
            leeway=LEEWAY_SECONDS,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except jwt.PyJWTError as error:
        # The name of the exception says which check failed; its text may quote claims.
        check = type(error).__name__
        raise ProviderError(f"its ID token is not valid: {check}") from None
    if not compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise ProviderError("its ID token belongs to another login")
    if claims.get("azp", client_id) != client_id:
        raise ProviderError("its ID token is for another client")
    return claims


def _key_of(token: str, issuer: str) -> jwt.PyJWK:
    """Return the provider's key that the token names, for the algorithm it names."""
    header = jwt.get_unverified_header(token)
    algorithm = header.get("alg")
    if algorithm not in _ALGORITHMS:
        raise ProviderError("its ID token is not signed with a private key")
    found = _find(provider_documents.keys(issuer), header)
    if found is None:
        # The provider may have a new key.
        found = _find(provider_documents.keys(issuer, refresh=True), header)
    if found is None:
        raise ProviderError("its ID token is signed with an unknown key")
    return jwt.PyJWK(found, algorithm)


def _find(keys: list[Any], header: dict[str, Any]) -> dict[str, Any] | None:
    """Return the key with the token's id; without an id, the only key."""
    signing = [
        key
        for key in keys
        if isinstance(key, dict)
        and key.get("use", "sig") == "sig"
        and key.get("alg", header["alg"]) == header["alg"]
    ]
    if "kid" not in header:
        return signing[0] if len(signing) == 1 else None
    return next((key for key in signing if key.get("kid") == header["kid"]), None)
