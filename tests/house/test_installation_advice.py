"""No text tells people to install Readback by name from a package index.

There, `readback` is someone else's package. `readback-api` is not published yet, so
anyone could publish a package with that name, and get keys that people give the probe.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BY_NAME = re.compile(
    # The installer, its arguments on the same or continued lines, and the name, unless
    # it is part of a path or a file's name. After `--from` and a file, it is a command.
    r"\b(pip[\d.]*|pipx|uvx?|poetry|pdm|hatch|conda|mamba|easy_install)\s"
    r"(?!--from '?\./)"
    r"(\\\n|[^\n`&|;])*?(?<![\w./-])readback([-_.]api)?"
    r"(?=[\s'\"`<>=~!@,;)\[]|\\n|$)"
    r"|/(project|simple)/readback",
    re.IGNORECASE,
)
ADVICE = [
    "pip install readback",
    "pip3 install -U 'readback-api[server]'",
    "uvx readback probe",
    "uvx --from readback-api readback probe",
    "pipx install \\\n    readback_api==1.0.0",
    "https://pypi.org/project/readback",
]
FROM_A_FILE = [
    "pip install './readback_api-1.0.0-py3-none-any.whl[server]'",
    "pip install '.[server]' && readback serve",
    "uvx --from './dist/readback_api-1.0.0-py3-none-any.whl[server]' readback serve",
    "/opt/readback/1.0.0/bin/pip install --no-deps .",
]
FOLDERS = (
    "docs",
    "src",
    "deploy",
    "examples",
    "scripts",
    "clients",
    "bench",
    "soak",
    "requirements",
)
BINARY = {".ico", ".mo", ".png", ".pyc"}


def test_the_pattern_finds_advice_to_install_by_name_and_no_other() -> None:
    assert all(map(BY_NAME.search, ADVICE))
    assert not any(map(BY_NAME.search, FROM_A_FILE))


def test_no_file_installs_readback_by_its_name() -> None:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    texts = [
        path
        for path in [*ROOT.iterdir(), *paths]
        if path.is_file() and path.suffix not in BINARY
    ]
    found = {
        str(path.relative_to(ROOT)): match[0]
        for path in texts
        for match in BY_NAME.finditer(path.read_text(encoding="utf-8"))
    }
    assert len(texts) > 300
    assert found == {}
