"""The model list: one model, every member of it, and nothing else."""

from tests.support.api import MODELS, Api, assert_success
from tests.support.tables import each

THE_LIST = {
    "object": "list",
    "data": [
        {"id": "vendor-cabinet-preview-echo", "object": "model", "owned_by": "vendor"}
    ],
}


def test_the_list_is_the_one_model_and_nothing_else(api: Api) -> None:
    assert assert_success(api.models()) == THE_LIST


def test_every_list_has_its_own_id(api: Api) -> None:
    ids = {api.models().header("X-Request-Id") for _ in range(20)}
    assert len(ids) == 20


@each(
    "field",
    {
        "an empty body": ("Content-Length", "0"),
        "an Accept header": ("Accept", "text/html"),
        "a content type without a body": ("Content-Type", "text/plain"),
        "a cookie": ("Cookie", "a=b"),
        "a proxy's address": ("X-Forwarded-For", "192.0.2.1"),
        "a condition": ("If-None-Match", "*"),
        "a range": ("Range", "bytes=0-3"),
        "another compression": ("Accept-Encoding", "gzip, br, zstd"),
    },
)
def test_irrelevant_fields_are_ignored(api: Api, field: tuple[str, str]) -> None:
    assert (
        assert_success(api.ask("GET", MODELS, [*api.usual_fields, field])) == THE_LIST
    )


def test_field_names_are_case_insensitive(api: Api) -> None:
    fields = [("hOsT", api.host[1]), ("AUTHORIZATION", api.bearer[1])]
    assert assert_success(api.ask("GET", MODELS, fields)) == THE_LIST
