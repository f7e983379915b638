"""docs/openapi.yaml is valid OpenAPI and agrees with the contract."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from readback import config, contract
from readback.contract import REFUSALS

FILE = Path(__file__).parents[2] / "docs" / "openapi.yaml"
DOCUMENT = yaml.load(FILE.read_bytes(), yaml.CSafeLoader)
MODELS = DOCUMENT["paths"]["/models"]["get"]
CHAT = DOCUMENT["paths"]["/chat/completions"]["post"]


def refusals_of(operation: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the responses that are refusals, by status."""
    components = DOCUMENT["components"]["responses"]
    return {
        int(status): components[response["$ref"].rpartition("/")[2]]
        for status, response in operation["responses"].items()
        if status != "200"
    }


def codes_of(response: dict[str, Any]) -> list[str]:
    schema = response["content"]["application/json"]["schema"]
    return schema["properties"]["error"]["properties"]["code"]["enum"]


def test_the_document_is_valid():
    import schemathesis

    schemathesis.openapi.from_dict(DOCUMENT).validate()


def test_the_paths_are_those_of_the_contract():
    paths = [contract.VERSION_PREFIX + path for path in DOCUMENT["paths"]]

    assert paths == [contract.MODELS_PATH, contract.CHAT_PATH]


def test_every_operation_needs_a_key():
    schemes = DOCUMENT["components"]["securitySchemes"]

    assert DOCUMENT["security"] == [{"key": []}]
    assert (schemes["key"]["type"], schemes["key"]["scheme"]) == ("http", "bearer")
    assert "security" not in MODELS and "security" not in CHAT


def test_every_refusal_has_its_status_and_its_code():
    expected = defaultdict(list)
    for row in REFUSALS.values():
        expected[row.status.value].append(row.code)
    chat = {status: codes_of(row) for status, row in refusals_of(CHAT).items()}
    models = {status: codes_of(row) for status, row in refusals_of(MODELS).items()}

    assert chat == expected
    # A GET request has no body whose type or content could be refused.
    del expected[415]
    assert models == expected | {400: ["malformed_request"]}


@pytest.mark.parametrize("operation", [MODELS, CHAT], ids=["models", "chat"])
def test_every_refusal_has_its_sentence_a_link_to_its_help_and_its_headers(operation):
    errors_page = f"{config.read({}).effective_cabinet_url}/docs/errors"
    extra = {401: {"WWW-Authenticate"}, 429: {"Retry-After"}, 503: {"Retry-After"}}
    for status, response in refusals_of(operation).items():
        for code in codes_of(response):
            line = f"[`{code}`]({errors_page}#{code}): {REFUSALS[code].sentence}\n"
            assert line in response["description"]
        usual = {"X-Request-Id", "X-Error-Detail", "Link"}
        assert set(response["headers"]) == usual | extra.get(status, set())


@pytest.mark.parametrize(
    "fact",
    [
        f"{contract.MAX_BODY_BYTES} bytes",
        f"{contract.MAX_HEAD_BYTES} bytes",
        f"{contract.MAX_HEAD_FIELDS} header fields",
        f"{contract.MAX_CONTENT_BYTES} *bytes*",
        f"{contract.CREATED_LEAD_SECONDS} seconds",
    ],
)
def test_the_descriptions_have_the_limits_that_a_schema_cannot_express(fact):
    assert fact in FILE.read_text(encoding="utf-8")
