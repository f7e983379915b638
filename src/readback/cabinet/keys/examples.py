"""What people copy to try a key: example programs, and lines that run the probe.

Each file in snippets/ is one way to connect, with the placeholders <BASE_URL>,
<API_KEY> and <MODEL>. Pages show the files filled in, and a test runs each of them.
"""

from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from django.conf import settings
from django.urls import reverse

from readback.cabinet.keys import probe_file
from readback.contract import MODEL

FOLDER = Path(__file__).parent / "snippets"

# In the order of the page. People save a program under its file's name, which must not
# shadow the package that the program imports.
NAMES = {
    "curl.sh": "curl",
    "openai_example.py": "Python: openai",
    "requests_example.py": "Python: requests",
    "langchain_example.py": "Python: LangChain",
    "litellm_example.py": "Python: LiteLLM",
    "openai.mjs": "Node: openai",
    "fetch.mjs": "Node: fetch",
    "ai-sdk.mjs": "Node: Vercel AI SDK",
}
# The page of a new key shows only these; docs/programs shows all of them.
FIRST = ("curl.sh", "openai_example.py", "openai.mjs")


class Snippet(NamedTuple):
    name: str
    text: str


def filled(
    base_url: str, api_key: str, files: Iterable[str] = tuple(NAMES)
) -> list[Snippet]:
    """Return the programs with the address and the key filled in."""
    values = {"<MODEL>": MODEL, "<BASE_URL>": base_url, "<API_KEY>": api_key}
    snippets = []
    for file in files:
        text = (FOLDER / file).read_text(encoding="utf-8")
        for place, value in values.items():
            text = text.replace(place, value)
        snippets.append(Snippet(NAMES[file], text))
    return snippets


def probe_offer() -> dict[str, str]:
    """Return the context of keys/probe.html."""
    url = f"{settings.CABINET_URL}{reverse('probe')}"
    base_url = settings.CONFIG.base_url
    lines = f"curl -fsSO {quote(url)}\npython3 {probe_file.NAME} {quote(base_url)}"
    return {"probe_lines": lines, "probe_checksum": probe_file.checksum()}
