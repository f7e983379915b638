"""What the step "other programs" says, and that it says nothing without a reason."""

from pathlib import Path

import pytest

from readback.keys import masked, mint
from readback.probe.clients.comparison import (
    check,
    differences,
    openai_differences,
    programs,
)
from readback.probe.common.results import Diagnosis
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.transport.context import ProbeContext
from tests.probe.clients.machines import NOWHERE, machine

TARGET = BaseUrl("https", "echo.example", 443, "/v1")
KEY = mint()
PROXY = "http://proxy.example:3128"


def found(variables: dict[str, str], folder: Path = NOWHERE) -> list[Diagnosis]:
    here = machine(variables, folder)
    return [
        *differences(TARGET, here, programs("3.49.0")),
        *openai_differences(TARGET, here, Secret(KEY)),
    ]


def ids(variables: dict[str, str], folder: Path = NOWHERE) -> list[str]:
    return [diagnosis.id for diagnosis in found(variables, folder)]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"NO_PROXY": "localhost,127.0.0.1,.example"},
        # A proxy for http alone does not matter.
        {"http_proxy": PROXY},
        {"https_proxy": PROXY, "no_proxy": "echo.example"},
        {"OPENAI_API_KEY": "sk-proj-0123456789abcdef"},
        {"OPENAI_BASE_URL": f"{TARGET}/", "OPENAI_API_KEY": KEY},
    ],
)
def test_an_ordinary_machine_gets_no_warning(variables: dict[str, str]) -> None:
    assert ids(variables) == []


def test_it_says_which_programs_use_the_proxy_and_which_do_not() -> None:
    [diagnosis] = found({"https_proxy": PROXY})
    assert diagnosis.sentence == (
        "Programs reach this address in different ways. curl, requests, httpx and "
        "openai 3: through proxy.example:3128; Node 22 and Java: directly."
    )
    assert diagnosis.details[0] == (
        "through proxy.example:3128, from https_proxy: curl (7.88.1), requests "
        "(2.34.2), httpx (0.28.1), openai 3 (3.3.0, 3.49.0)"
    )


def test_the_rules_of_openai_3_are_not_those_of_an_older_one() -> None:
    assert "openai 3" not in [one.name for one in programs("2.54.0")]
    assert [one.name for one in programs("")] == [one.name for one in programs("3.49")]


def test_everything_that_it_advises_makes_the_programs_agree() -> None:
    java = "-Dhttps.proxyHost=proxy.example -Dhttps.proxyPort=3128"
    variables = {
        "https_proxy": PROXY,
        "HTTPS_PROXY": PROXY,
        "JAVA_TOOL_OPTIONS": java,
    }
    [diagnosis] = found(variables)
    # No setting makes an older Node use a proxy.
    assert diagnosis.sentence.endswith("; Node 22: directly.")


def test_it_says_where_openai_takes_its_settings_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", str(TARGET))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    context = ProbeContext(str(TARGET), Secret(KEY))
    context.base_url = TARGET
    [diagnosis] = check(context)
    assert diagnosis.id == "clients.agree"
    assert diagnosis.details == (
        "The openai package would take the base URL from OPENAI_BASE_URL and the key "
        f"{masked(KEY[-4:])} from OPENAI_API_KEY.",
    )


def test_a_password_of_a_proxy_is_never_shown() -> None:
    for value in ("http://alice:hu/s#h@proxy.example:3128", "alice:hush@p:1", "hush"):
        shown = str(found({"https_proxy": value}))
        assert "alice" not in shown
        assert "hu/s" not in shown


def test_a_key_of_another_service_is_never_shown(tmp_path: Path) -> None:
    secret = "q" * len(KEY)
    (tmp_path / ".env").write_text(f"OPENAI_BASE_URL=https://x.test/{secret}/v1\n")
    variables = {
        "OPENAI_BASE_URL": str(TARGET),
        "OPENAI_API_KEY": secret,
        "OPENAI_CUSTOM_HEADERS": f"Authorization: {secret}",
    }
    shown = str(found(variables, tmp_path)) + str(found({}, tmp_path))
    assert "clients.key_variable" in shown
    assert "clients.env_file" in shown
    assert "qqqq" not in shown


def test_a_login_in_netrc_is_found_as_requests_finds_it(tmp_path: Path) -> None:
    file = tmp_path / ".netrc"
    file.write_text("machine other.test login alice password hush\n")
    assert ids({}, tmp_path) == []
    file.write_text("default login alice password hush\n")
    assert ids({}, tmp_path) == ["clients.netrc"]
    assert ids({"NETRC": str(tmp_path / "absent")}, tmp_path) == []
    file.write_bytes(b"machine \xff\xfe login")
    assert ids({}, tmp_path) == []


@pytest.mark.parametrize(
    "value",
    [
        "\0",
        "http://[",
        "://",
        "http://host:99999",
        "socks9://x",
        "%",
        "@",
        " ",
        "\udcff",
    ],
)
def test_no_value_makes_the_step_fail(value: str) -> None:
    names = ("https_proxy", "NO_PROXY", "OPENAI_BASE_URL", "OPENAI_API_KEY", "NETRC")
    options = {"JAVA_TOOL_OPTIONS": f'-Dhttps.proxyHost={value} "', "NODE_OPTIONS": "'"}
    for name in names:
        found({name: value, **options})
    found(dict.fromkeys(names, value))
