"""Every template that the code or another template names exists, and can be loaded."""

import re
from pathlib import Path

import readback.cabinet

CABINET = Path(readback.cabinet.__file__).parent
TEMPLATES = CABINET / "templates"
_IN_TEMPLATE = re.compile(r'{% (?:include|extends) "([^"]+)"')
_IN_CODE = re.compile(r'"([a-z_]+/[a-z_/]+\.(?:html|txt))"')


def test_every_template_that_is_named_exists() -> None:
    from django.template.loader import get_template

    texts = [path.read_text("utf-8") for path in CABINET.rglob("*.py")]
    names = {name for text in texts for name in _IN_CODE.findall(text)}
    assert len(names) > 20
    for path in TEMPLATES.rglob("*.*"):
        names.update(_IN_TEMPLATE.findall(path.read_text("utf-8")))
    for name in names:
        get_template(name)
