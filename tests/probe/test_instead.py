"""What responds instead of the service is told in its own words."""

import json

import pytest

from readback.probe.report import ProbeReport
from tests.probe.probing import found, probed
from tests.probe.provider import KEY, provider
from tests.probe.relay import Response
from tests.probe.setups import (
    ProbeInput,
    Resources,
    entered_as,
    through_relay,
)
from tests.probe.setups_network import behind_forward_proxy

LOCATIONS = [
    ("http://192.0.2.1:8123/v1/models", "http.redirect", "http://192.0.2.1:8123/v1/m"),
    (
        "https://a.example/api/v1/models",
        "http.redirect",
        "Use https://a.example/api/v1 ",
    ),
    ("/users/sign_in?next=1", "http.login_wall", "/users/sign_in)"),
    ("https://x.okta.com/o/v1?state=s3", "http.login_wall", "https://x.okta.com/o/v1)"),
    (
        "http://127.0.0.1:8880/guest/s/",
        "http.captive_portal",
        "127.0.0.1:8880/guest/s/",
    ),
    ("http://[", "http.redirect", "an invalid address"),
]


def report_of(resources: Resources, status: int, headers, body) -> ProbeReport:
    text = body if isinstance(body, str) else json.dumps(body)
    response = Response(status, "Instead", headers, text.encode())
    with through_relay(on_response=lambda _: response)(resources) as probe_input:
        return probed(probe_input)


@pytest.mark.parametrize(("location", "id", "words"), LOCATIONS)
def test_the_target_of_a_redirect_is_shown_with_its_port(
    location: str, id: str, words: str, resources: Resources
) -> None:
    report = report_of(resources, 302, {"Location": location}, "")
    diagnosis = found(report, id)
    assert words in f"{diagnosis.sentence} {diagnosis.hint} "
    assert "s3" not in repr(report)


@pytest.mark.parametrize("password", ["wrong", "100%", "p@ss"])
def test_a_wrong_password_of_the_proxy_is_not_a_missing_one(
    password: str, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    with behind_forward_proxy()(resources) as probe_input:
        for name, value in probe_input.environment.items():
            monkeypatch.setenv(name, value.replace("hush", password))
        report = probed(probe_input)
    assert report.id == "proxy.login_refused"
    assert password not in report.sentence


@pytest.mark.parametrize("path", ["/api/v1", "/openai/v1", "/v1beta/openai"])
def test_the_path_of_another_provider_is_found(path: str, resources: Resources) -> None:
    with provider(path=path) as server:
        url = server.base_url.replace(path, "/v1")
        report = probed(ProbeInput(url, KEY, timeout=5.0))
        right = server.base_url
    assert right in found(report, "address.corrected").hint
    found(report, "key.accepted")
    with entered_as(lambda url: url.replace("/v1", path))(resources) as probe_input:
        report = probed(probe_input)
    assert resources.readback.base_url in found(report, "address.corrected").hint
    found(report, "echo.same")
