"""Every page and every e-mail has the operator's name and look, without scripts."""

import re
from dataclasses import replace

import pytest
from django.conf import settings
from django.test import override_settings

from readback.cabinet.mail import rendering
from readback.cabinet.pages import brand
from readback.cabinet.serving import errors
from tests.cabinet.visitor import Visitor, text_of
from tests.support.brand_folder import fill, png

# With characters that HTML, TOML, headers or Python might interpret.
NAME = "Aurora <b>\"%(x)s\" {{ y }} & 'Co'"
ESCAPED = "Aurora &lt;b&gt;&quot;%(x)s&quot; {{ y }} &amp; &#x27;Co&#x27;"


@pytest.fixture
def branded(tmp_path, database):
    folder = tmp_path / "brand"
    folder.mkdir()
    config = replace(
        settings.CONFIG,
        site_name=NAME,
        brand_dir=fill(folder),
        contact="mailto:security@example.org",
    )
    with override_settings(CONFIG=config, BRAND=brand.read(config)):
        yield


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_name_is_on_every_page(branded, language):
    visitor = Visitor(language)
    for path in ("/", "/docs/", "/docs/connect", "/accounts/login/", "/privacy", "/no"):
        page = text_of(visitor.get(path))
        title = re.search("<title>(.*?)</title>", page)[1]
        assert title.startswith(ESCAPED) if path == "/" else title.endswith(ESCAPED)
        assert "<b>" not in page.split("</header>")[0]
        assert '<link rel="stylesheet" href="/brand/colours.css">' in page
        # The docs describe the software; elsewhere, only the footer names it.
        assert path.startswith("/docs/") or page.count("Readback") == 1


def test_previews_of_links_have_the_name_and_not_our_picture(branded):
    page = text_of(Visitor().get("/"))
    assert f'<meta property="og:site_name" content="{ESCAPED}">' in page
    assert "og:image" not in page


def test_every_page_has_the_notice_also_if_the_database_is_away(branded, operator):
    link = '<a href="https://status.example.org/" rel="nofollow">'
    pages = (
        Visitor().get("/accounts/login/"),
        operator.get("/admin/cabinet/key/"),
        errors.server_error(None),
    )
    for page in pages:
        text = page.content.decode()
        assert f"Closed on &lt;b&gt;Monday&lt;/b&gt;: {link}" in text
        assert '<aside class="notice" aria-label="Notice">' in text  # a landmark


def test_errors_and_the_pages_for_operators_have_the_name(branded, operator):
    for page in (errors.bad_request(None, None), errors.server_error(None)):
        assert f"<title>{ESCAPED}</title>" in page.content.decode()
    for path in ("/admin/", "/admin/cabinet/key/"):
        assert f" · {ESCAPED}</title>" in text_of(operator.get(path))


def test_every_page_has_the_links_of_the_operator(branded):
    link = '<a href="https://www.aurora.example/terms?&quot;">Terms &lt;b&gt;</a>'
    for path in ("/", "/accounts/login/"):
        assert link in text_of(Visitor().get(path))


def test_pictures_cannot_run_scripts_and_need_no_session(branded):
    picture = Visitor().get("/brand/logo.svg")
    assert picture["Content-Type"] == "image/svg+xml"
    assert picture["X-Content-Type-Options"] == "nosniff"
    policy = picture["Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    assert "Set-Cookie" not in picture and "Cookie" not in picture.get("Vary", "")
    page = text_of(Visitor().get("/"))
    assert "from the logo" not in page  # never inlined
    assert 'srcset="/brand/logo-dark.png" media="(prefers-color-scheme: dark)"' in page

    icon = Visitor().get("/favicon.ico")
    assert (icon["Content-Type"], icon.content) == ("image/png", png(32, 32))
    again = Visitor().get("/favicon.ico", headers={"if-none-match": icon["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    for path in ("/brand/brand.toml", "/brand/README.txt", "/brand/../settings.py"):
        assert Visitor().get(path).status_code == 404


def test_mails_have_the_name_the_colour_and_the_footer(branded):
    def mail(language: str):
        name = "account/email/password_changed"
        details = {"ip": "192.0.2.1"}
        return rendering.render(name, "alice@example.org", language, details, "")

    english, russian = mail("en"), mail("ru")
    assert english.subject == f"Your {NAME} password has been changed"
    assert russian.subject == f"Пароль в {NAME} изменён"
    assert english.text.endswith("\n\nAurora Ltd\nRiga & <b>Oslo</b>")
    html = english.html
    assert f">{ESCAPED}</p>" in html
    assert "Aurora Ltd<br>Riga &amp; &lt;b&gt;Oslo&lt;/b&gt;" in html
    assert "background:#7a1f5c" in html and "#0b6e63" not in html
