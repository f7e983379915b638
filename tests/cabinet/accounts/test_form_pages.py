"""Pages with a form: where the cursor starts, and what password managers need."""

import re

from readback.cabinet.accounts import selectors
from readback.cabinet.models import User
from tests.cabinet.visitor import Visitor, text_of

NEW = "alice@example.net"


def inputs_of(page: str) -> dict[str, str]:
    """Return the tags of the visible fields by name."""
    main = page.partition("<main")[2].partition("</main>")[0]
    tags = re.findall(r"<(?:input|select)[^>]*>", main)
    named = {re.search(r'name="(\w+)"', tag)[1]: tag for tag in tags}
    return {name: tag for name, tag in named.items() if 'type="hidden"' not in tag}


def focused(page: str) -> list[str]:
    return [name for name, tag in inputs_of(page).items() if "autofocus" in tag]


def reset_form(alice: User) -> str:
    visitor = Visitor()
    alice.refresh_from_db()
    hidden = visitor.get(selectors.password_reset_link(alice)).headers["Location"]
    return text_of(visitor.get(hidden))


def test_the_cursor_is_in_the_first_field_or_in_the_one_with_the_error(alice, owner):
    visitor = Visitor()
    pages = {
        text_of(visitor.get("/accounts/login/")): "login",
        text_of(visitor.get("/accounts/signup/")): "email",
        text_of(visitor.get("/accounts/password/reset/")): "email",
        reset_form(alice): "password1",
        text_of(owner.get("/accounts/reauthenticate/")): "password",
        text_of(owner.get("/accounts/password/change/")): "oldpassword",
        text_of(owner.get("/accounts/email/")): "email",
        text_of(visitor.sign_up(NEW, "short")): "password1",
        text_of(visitor.log_in(alice.email, "not the password")): "password",
        text_of(owner.send("/account/delete/", {"email": NEW})): "email",
    }
    assert [focused(page) for page in pages] == [[name] for name in pages.values()]


def test_no_keyboard_covers_a_page_that_has_more_to_read(owner):
    for path in ("/", "/keys/", "/account/", "/account/delete/"):
        assert focused(text_of(owner.get(path))) == [], path


def test_a_new_password_is_entered_once_and_offered_to_the_password_manager(
    alice, owner
):
    pages = [
        text_of(Visitor().get("/accounts/signup/")),
        text_of(owner.get("/accounts/password/change/")),
        reset_form(alice),
    ]
    for page in pages:
        fields = inputs_of(page)
        assert "password2" not in fields
        assert 'autocomplete="new-password"' in fields["password1"]
        assert 'type="password"' in fields["password1"]
        assert "paste" not in page and "maxlength" not in fields["password1"]
    assert 'autocomplete="current-password"' in inputs_of(pages[1])["oldpassword"]
