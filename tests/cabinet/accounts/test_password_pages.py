"""Which requests wait for a thread that hashes passwords."""

import pytest

from readback.cabinet.accounts.password_pages import hashes_password


@pytest.mark.parametrize(
    "method, path, expected",
    [
        ("POST", "/accounts/login/", True),
        ("POST", "/accounts/%6Cogin/", True),
        ("PUT", "/accounts/login/", True),
        ("POST", "/accounts/password/reset/key/1-set-password/", True),
        ("POST", "/accounts/invitation/%D0%BF/", True),
        ("POST", "/account/delete/", True),
        ("GET", "/accounts/login/", False),
        ("HEAD", "/accounts/login/", False),
        ("POST", "/accounts/login", False),
        ("POST", "/accounts/logout/", False),
        ("POST", "/keys/", False),
        ("POST", "*", False),
        ("POST", "/%ff%00\N{SNOWMAN}", False),
    ],
)
def test_only_forms_with_a_password_wait(method, path, expected):
    assert hashes_password(method, path) is expected
