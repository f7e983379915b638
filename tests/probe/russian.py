"""Finds English in a Russian report: what a catalogue lacks.

Names, ids, codes and the words of servers and of the operating system stay as they are.
"""

import errno
import html
import os
import re
from dataclasses import replace

from readback.probe import language
from readback.probe.common.results import Diagnosis
from readback.probe.output import formats, page
from readback.probe.report import ProbeReport, environment_summary

# Facts that are the words of others: servers, OpenSSL, certificates, files.
_QUOTED = re.findall(
    r"\w+",
    "detail host proxy status issuer subject location names near name by path file "
    "scheme schemes entry seen sign",
)
_ERRORS = {
    *(os.strerror(one) for one in errno.errorcode),
    *("Name or service not known", "Temporary failure in name resolution"),
    *(
        "No address associated with hostname",
        "Non-recoverable failure in name resolution",
    ),
}
_MARKUP = re.compile("<style>.*?</style>|<code>.*?</code>|<[^>]*>", re.DOTALL)
_QUOTATION = re.compile('“[^”]*”|«[^»]*»|‘[^’]*’|"[^"]*"')
_PUNCTUATION = re.compile(r"[(,.:;)!?]+(?=\s|$)|(?<=\s)[(]")
# A part of an address, a file, a variable, an option, a code point or a version.
_TOKEN = re.compile(
    r"\S*[\w…\"']*[./_@=:\d\\#%+-]\S*|\b\w*[a-z][A-Z]\w*|\b[A-Z]{2,}s?\b"
)
_WORD = re.compile(r"[A-Za-z]{3,}")
_NAMES = re.findall(
    r"\w+",
    """
    After Agent Amazon Another Anthropic assistant Authorization Azure Basic
    Bearer box cacerts Caps certifi charset choices Clash Cloudflare cntlm
    Connect content Continue cookie created curl data debug deflate der Desktop
    Docker Envoy Expect export fail Fastly fetch Framework Gateway Gecko Gemini
    Google Groq gzip Heroku host hosts htp http https httpx hxxp ingress Ingress
    ipconfig Java Kong Kubernetes like link Linux localhost Lock Management
    Markdown messages Middle model models Netlify nginx ngrok Node object openai
    OpenAI openssl Podman Python Readback rehash requests Retry role Root Server
    Service skip socks socksio stream Surge system systemd Traefik ulimit
    unavailable usage user User uvicorn Vercel Via warn Windows Worker
    """,
)


def english_in(report: ProbeReport) -> list[str]:
    """Return the English words of the report in Russian, with what is before each."""
    before = language.current()
    language.use("ru")
    try:
        results = language.localized_results(report.results)
        told = replace(report, results=results)
        texts = (formats.as_text(told), _MARKUP.sub("\n", page.as_page(told)))
    finally:
        language.use(before)
    quoted = {environment_summary(), report.endpoint_name, *_ERRORS}
    for one in report.results:
        quoted |= {fact for fact in _words_of_others(one.diagnosis) if fact}
    return [found for text in texts for found in _english(html.unescape(text), quoted)]


def _words_of_others(diagnosis: Diagnosis) -> set[str]:
    is_of_a_library = diagnosis.id.startswith(
        ("tls.", "proxy.untrusted", "http.malformed")
    )
    names = {*_QUOTED, *(["reason"] if is_of_a_library else [])}
    facts = [str(diagnosis.facts.get(name) or "").strip() for name in names]
    # The verdict has only the first sentence of them.
    return {*facts, *(part for fact in facts for part in re.split(r"(?<=\.) ", fact))}


def _english(text: str, quoted: set[str]) -> list[str]:
    for one in sorted(filter(None, quoted), key=len, reverse=True):
        text = text.replace(one, "…").replace(one.lower(), "…")
    text = _PUNCTUATION.sub(" ", _QUOTATION.sub("…", text))
    text = _TOKEN.sub("…", text)
    return [
        text[max(0, one.start() - 30) : one.end() + 30].strip()
        for one in _WORD.finditer(text)
        if one[0] not in _NAMES
    ]
