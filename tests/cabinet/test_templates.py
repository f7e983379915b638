"""Every template can be loaded, and every name of a template leads to one."""

import re
from pathlib import Path

import readback.cabinet

CABINET = Path(readback.cabinet.__file__).parent
TEMPLATES = CABINET / "templates"
_IN_TEMPLATE = re.compile(r'{% (?:include|extends) "([^"]+)"')
_IN_CODE = re.compile(r'"([a-z_]+/[a-z_/]+\.(?:html|txt))"')


def test_every_template_can_be_loaded() -> None:
    from django.template.loader import get_template

    paths = [path for path in TEMPLATES.rglob("*") if path.is_file()]
    assert len(paths) > 100
    for path in paths:
        get_template(str(path.relative_to(TEMPLATES)))


def test_every_template_that_is_named_exists() -> None:
    from django.template.loader import get_template

    texts = [path.read_text("utf-8") for path in CABINET.rglob("*.py")]
    names = {name for text in texts for name in _IN_CODE.findall(text)}
    assert len(names) > 30
    for path in TEMPLATES.rglob("*.*"):
        names.update(_IN_TEMPLATE.findall(path.read_text("utf-8")))
    for name in names:
        get_template(name)


def test_the_templates_of_a_room_lie_in_a_folder_of_its_name() -> None:
    folders = {path.name for path in TEMPLATES.iterdir() if path.is_dir()}
    rooms = {path.parent.name for path in CABINET.glob("*/__init__.py")}
    # allauth and Django's admin look for theirs in these.
    assert folders - rooms == {"account", "admin", "allauth", "mfa"}
