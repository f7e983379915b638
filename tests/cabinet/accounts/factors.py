"""Simulated authenticator apps and passkeys, for tests of second factors."""

import json
import re
import time
from typing import Any

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2.cose import ES256
from fido2.utils import sha256, websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from tests.cabinet.visitor import PASSWORD, Visitor, text_of

PAGE = "/account/second-factor/"
APP, APP_REMOVE = f"{PAGE}totp/activate/", f"{PAGE}totp/deactivate/"
PASSKEY = f"{PAGE}webauthn/add/"
CODES, NEW_CODES = f"{PAGE}recovery-codes/", f"{PAGE}recovery-codes/generate/"
CHALLENGE, CONFIRM = f"{PAGE}authenticate/", f"{PAGE}reauthenticate/"
PASSKEY_LOGIN = f"{PAGE}webauthn/login/"
PASSKEY_CONFIRM = f"{PAGE}webauthn/reauthenticate/"
# Browsers do not allow passkeys at 127.0.0.1.
LOCALHOST = {"host": "localhost:8001"}


class App:
    """An authenticator app with the secret that a page shows."""

    def __init__(self, page: Any) -> None:
        pattern = r'id="authenticator_secret" value="([A-Z2-7]+)"'
        found = re.search(pattern, text_of(page))
        assert found, "the page shows no secret"
        self.secret = found[1]

    @property
    def code(self) -> str:
        return format_hotp_value(hotp_value(self.secret, int(time.time()) // 30))

    @property
    def wrong_code(self) -> str:
        """A code that is not among those accepted around this time."""
        now = int(time.time()) // 30
        near = [hotp_value(self.secret, now + periods) for periods in range(-2, 3)]
        return min({f"{n:06}" for n in range(6)} - set(map(format_hotp_value, near)))


def add_app(visitor: Visitor) -> App:
    return add_app_with_codes(visitor)[0]


def add_app_with_codes(visitor: Visitor) -> tuple[App, list[str]]:
    """Return the app, and the recovery codes that the next page shows."""
    app = App(visitor.get(APP))
    response = visitor.post(APP, {"code": app.code})
    assert response.status_code == 302, text_of(response)
    return app, recovery_codes_in(visitor.get(response.headers["Location"]))


def recovery_codes_in(page: Any) -> list[str]:
    shown = re.findall(r"<code>([0-9 ]{19})</code>", text_of(page))
    return [code.replace(" ", "") for code in shown]


def log_in(email: str, code: str, **options: Any) -> Visitor:
    visitor = Visitor(**options)
    visitor.log_in(email, PASSWORD)
    visitor.post(CHALLENGE, {"code": code})
    return visitor


class Passkey:
    """A passkey together with its browser; by default, it verifies the user."""

    origin = "http://localhost:8001"

    def __init__(self, name: bytes = b"a credential") -> None:
        self.id = name
        self.verifies = True
        self._private = ec.generate_private_key(ec.SECP256R1())
        self._user = b""

    def create(self, options: dict[str, Any]) -> str:
        asked = options["publicKey"]
        self._user = websafe_decode(asked["user"]["id"])
        public = ES256.from_cryptography_key(self._private.public_key())
        data = AttestedCredentialData.create(b"\0" * 16, self.id, public)
        attestation = AttestationObject.create(
            "none", self._data(asked["rp"]["id"], data), {}
        )
        client = self._client("webauthn.create", asked)
        return self._answer(
            {
                "clientDataJSON": websafe_encode(client),
                "attestationObject": websafe_encode(attestation),
            }
        )

    def get(self, options: dict[str, Any]) -> str:
        asked = options["publicKey"]
        client = self._client("webauthn.get", asked)
        data = self._data(asked["rpId"])
        signature = self._private.sign(data + sha256(client), ec.ECDSA(SHA256()))
        return self._answer(
            {
                "clientDataJSON": websafe_encode(client),
                "authenticatorData": websafe_encode(data),
                "signature": websafe_encode(signature),
                "userHandle": websafe_encode(self._user),
            }
        )

    def _client(self, kind: str, asked: dict[str, Any]) -> bytes:
        challenge = websafe_decode(asked["challenge"])
        return CollectedClientData.create(kind, challenge, self.origin)

    def _data(self, host: str, credential: Any = b"") -> AuthenticatorData:
        flags = AuthenticatorData.FLAG.UP
        if self.verifies:
            flags |= AuthenticatorData.FLAG.UV
        if credential:
            flags |= AuthenticatorData.FLAG.AT
        return AuthenticatorData.create(sha256(host.encode()), flags, 0, credential)

    def _answer(self, response: dict[str, str]) -> str:
        name = websafe_encode(self.id)
        return json.dumps(
            {
                "id": name,
                "rawId": name,
                "type": "public-key",
                "response": response,
                "clientExtensionResults": {"credProps": {"rk": True}},
            }
        )


def ask(visitor: Visitor, url: str) -> dict[str, Any]:
    """Return the options that the page passes to the browser."""
    response = visitor.get(url, headers=LOCALHOST)
    if response.headers["Content-Type"] == "application/json":
        return response.json()["request_options"]
    found = re.search(r'id="js_data" type="application/json">(.*?)<', text_of(response))
    assert found, text_of(response)
    [options] = json.loads(found[1]).values()
    return options


def answer(visitor: Visitor, url: str, credential: str) -> Any:
    fields = {"credential": credential, "name": "my phone"}
    return visitor.post(url, fields, headers=LOCALHOST)


def add_passkey(visitor: Visitor, passkey: Passkey) -> Any:
    response = answer(visitor, PASSKEY, passkey.create(ask(visitor, PASSKEY)))
    assert response.status_code == 302, text_of(response)
    return response


def log_in_with(passkey: Passkey) -> Visitor:
    visitor = Visitor()
    options = ask(visitor, PASSKEY_LOGIN)
    answer(visitor, PASSKEY_LOGIN, passkey.get(options))
    return visitor
