"""An OpenID Connect provider as a process: allauth's own, with its own database.

Run as `python -m tests.support.oidc_provider_process PORT FOLDER`. Unlike an ordinary
provider, it creates people and clients at `/prepare`, and logs people in at `/enter`. A
person whose address begins with the name of a defect gets tokens with this defect.
"""

import base64
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIServer, make_server

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

PASSWORD = "the provider's password"
CLIENT_ID = "readback"
CLIENT_SECRET = "only-for-tests-of-the-provider"


def new_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


_other_key = cache(new_key)


# Defects of ID tokens: each function gets the claims and returns the token.

Claims = dict[str, Any]


def _sign(claims: Claims, key: str = "", kid: str = "") -> str:
    from allauth.core.internal import jwkkit

    jwk, own = jwkkit.load_jwk_from_pem(settings.IDP_OIDC_PRIVATE_KEY)
    used = jwkkit.load_pem(key) if key else own
    return jwt.encode(claims, used, "RS256", {"kid": kid or jwk["kid"]})


def _without(claims: Claims, name: str) -> Claims:
    return {key: value for key, value in claims.items() if key != name}


def _unsigned(claims: Claims) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts]
    return b".".join(part.rstrip(b"=") for part in encoded).decode() + "."


def _signed_with_the_client_secret(claims: Claims) -> str:
    return jwt.encode(claims, CLIENT_SECRET.ljust(32), "HS256")


DEFECTS: dict[str, Callable[[Claims], str | None]] = {
    "other-audience": lambda claims: _sign(claims | {"aud": "another-client"}),
    "other-party": lambda claims: _sign(
        claims | {"aud": [CLIENT_ID, "x"], "azp": "another-client"}
    ),
    "two-audiences": lambda claims: _sign(claims | {"aud": [CLIENT_ID, "x"]}),
    "other-issuer": lambda claims: _sign(claims | {"iss": "https://mallory.example"}),
    "expired": lambda claims: _sign(claims | {"exp": int(time.time()) - 120}),
    "no-expiry": lambda claims: _sign(_without(claims, "exp")),
    "no-time": lambda claims: _sign(_without(claims, "iat")),
    "endless": lambda claims: _sign(claims | {"exp": float("inf")}),
    "far-too-late": lambda claims: _sign(claims | {"exp": 10**30}),
    "no-person": lambda claims: _sign(claims | {"sub": None}),
    "other-key": lambda claims: _sign(claims, key=_other_key()),
    "unknown-key": lambda claims: _sign(claims, key=_other_key(), kid="unknown"),
    "alg-none": _unsigned,
    "client-secret": _signed_with_the_client_secret,
    "no-token": lambda claims: None,
    "not-a-token": lambda claims: "x.y.z",
    "text-true": lambda claims: _sign(claims | {"email_verified": "true"}),
    "no-claim": lambda claims: _sign(_without(claims, "email_verified")),
}


def _defect_of(email: str) -> str:
    name = email.partition("@")[0]
    return name if name in DEFECTS else ""


def with_defects(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Middleware that replaces the tokens of people whose address names a defect."""

    def handle(request: Any) -> Any:
        response = get_response(request)
        if response.status_code != 200:
            return response
        if request.path.endswith("/token"):
            answer = json.loads(response.content)
            claims = jwt.decode(answer["id_token"], options={"verify_signature": False})
            defect = _defect_of(claims.get("email", ""))
            answer["id_token"] = DEFECTS.get(defect, _sign)(claims)
            response.content = json.dumps(answer).encode()
        return response

    return handle


def prepare(request: Any) -> Any:
    """Create or change a person, or register the URL to which logins return."""
    from allauth.account.models import EmailAddress
    from allauth.idp.oidc.models import Client
    from django.contrib.auth import get_user_model
    from django.http import HttpResponse

    wanted = json.loads(request.body)
    if url := wanted.get("return_url"):
        client = Client(id=CLIENT_ID, name=CLIENT_ID, skip_consent=True)
        client.scopes = "openid\nemail\nprofile"
        client.redirect_uris = url
        client.set_secret(CLIENT_SECRET)
        client.save()
        return HttpResponse()
    users = get_user_model().objects
    user, is_new = users.get_or_create(username=wanted["name"])
    if is_new:
        user.set_password(PASSWORD)
    user.email = wanted["email"]
    user.save()
    EmailAddress.objects.filter(user=user).delete()
    EmailAddress.objects.filter(email=user.email).delete()
    if user.email:
        EmailAddress.objects.create(
            user=user, email=user.email, verified=wanted["verified"], primary=True
        )
    return HttpResponse()


def enter(request: Any, name: str) -> Any:
    """Log a person in without the form, which takes most of a login's time."""
    from django.contrib.auth import get_user_model, login
    from django.http import HttpResponse

    user = get_user_model().objects.get(username=name)
    login(request, user, settings.AUTHENTICATION_BACKENDS[0])
    return HttpResponse()


def configure(folder: Path) -> None:
    settings.configure(
        SECRET_KEY="only-for-tests-of-the-provider-" * 2,
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF="tests.support.oidc_provider_urls",
        USE_TZ=True,
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "django.contrib.messages",
            "allauth",
            "allauth.account",
            "allauth.idp.oidc",
        ],
        MIDDLEWARE=[
            "tests.support.oidc_provider_process.with_defects",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "allauth.account.middleware.AccountMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": folder / "provider.sqlite3",
            }
        },
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        # Creating the tables from the models is faster than migrations.
        MIGRATION_MODULES=dict.fromkeys(
            ("auth", "contenttypes", "sessions", "account", "allauth_idp_oidc")
        ),
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
        ACCOUNT_LOGIN_METHODS={"username"},
        ACCOUNT_EMAIL_VERIFICATION="none",
        ACCOUNT_RATE_LIMITS=False,
        SESSION_COOKIE_NAME="provider_session",
        IDP_OIDC_PRIVATE_KEY=new_key(),
    )


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


def main(port: int, folder: Path) -> None:
    configure(folder)
    import django
    from allauth.core.internal import jwkkit
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    django.setup()
    # Each token loads the key several times, which takes 0.2 s of CPU time.
    jwkkit.load_pem = cache(jwkkit.load_pem)
    # Making a key can take longer than the cabinet waits, if the machine is busy.
    jwkkit.load_pem(_other_key())
    call_command("migrate", run_syncdb=True, verbosity=0)
    application = get_wsgi_application()
    with make_server("127.0.0.1", port, application, _Server) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
