"""The text does not come back unchanged."""

import html
import re
import unicodedata
from urllib.parse import unquote_plus

from tests.probe import corruptions
from tests.probe.setups import Scenario, changing_text, through_relay

ECHO = (
    Scenario(
        "a proxy changes the character encoding",
        "echo.charset",
        through_relay(on_response=corruptions.recode_as_cp1251),
    ),
    Scenario(
        "a proxy normalizes text to NFC",
        "echo.normalised",
        changing_text(lambda text: unicodedata.normalize("NFC", text)),
    ),
    Scenario(
        "a proxy converts LF to CR LF",
        "echo.line_ends",
        changing_text(lambda text: re.sub("\r?\n", "\r\n", text)),
    ),
    Scenario(
        "a proxy cuts off texts at 4096 bytes",
        "echo.truncated",
        through_relay(corruptions.shorten_content(4096)),
    ),
    Scenario(
        "a proxy compresses requests",
        "echo.media_type",
        through_relay(corruptions.compress_request),
    ),
    Scenario(
        "a proxy replaces quotation marks with typographic ones",
        "echo.smart_quotes",
        changing_text(corruptions.replace_quotes),
    ),
    Scenario("a proxy trims whitespace", "echo.trimmed", changing_text(str.strip)),
    Scenario(
        "a proxy removes control characters",
        "echo.controls",
        changing_text(corruptions.remove_controls),
    ),
    Scenario(
        "a proxy escapes text for HTML", "echo.escaped", changing_text(html.escape)
    ),
    Scenario(
        "a proxy changes words",
        "echo.changed",
        changing_text(lambda text: text.replace("copy", "paste")),
    ),
    Scenario(
        "a cache or recording responds",
        "echo.replayed",
        through_relay(on_response=corruptions.repeat_id),
    ),
    Scenario(
        "a gateway changes the structure of the response",
        "echo.shape",
        through_relay(
            on_response=lambda response: response.with_body(
                response.body.replace(b'"choices"', b'"outputs"')
            )
        ),
    ),
    Scenario(
        "a proxy replaces HTML entities", "echo.unescaped", changing_text(html.unescape)
    ),
    Scenario(
        "a proxy collapses repeated spaces",
        "echo.spaces",
        changing_text(lambda text: re.sub(" +", " ", text)),
    ),
    Scenario(
        "a gateway decodes the text like a form",
        "echo.form",
        changing_text(unquote_plus),
    ),
    Scenario(
        "a gateway doubles backslashes",
        "echo.backslashes",
        changing_text(lambda text: text.replace("\\", "\\\\")),
    ),
)
