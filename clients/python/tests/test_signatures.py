import json
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from stillframe import InvalidRequest, InvalidSignature, sign_link, verify_webhook
from stillframe.signatures import canonical_query, sign
from stillframe.wire import NO_LINK_FIELDS

VECTORS = json.loads((Path(__file__).parents[3] / "docs/render-links.json").read_text("utf-8"))
SIGNING = {"base_url": "https://shots.example.com/", "key_id": "key_1", "signing_secret": "sf_sign_x", "expires_in": 60}
SECRET = "a secret of the receiver"
NOW = 1_700_000_000
BODY = '{"event":"capture.completed","job_id":"job_1","text":"ünïcödé ✓"}'


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_a_link_is_signed_as_the_service_signs_it(vector):
    pairs = parse_qsl(vector["query"], keep_blank_values=True, strict_parsing=True)
    assert canonical_query(pairs) == vector["canonical"]
    assert sign(VECTORS["secret"], vector["canonical"].encode()) == vector["signature"]


def test_a_link_has_nested_fields_and_lists():
    fields = {"viewport": {"width": 800}, "hide_selectors": [".b", ".a"], "full_page": True, "clip": None}
    link = urlsplit(sign_link({"url": "https://münchen.example/a b?x=(2)*'!~", **fields}, **SIGNING))
    assert (link.netloc, link.path) == ("shots.example.com", "/v1/render")
    pairs = parse_qsl(link.query, strict_parsing=True)
    signature = sign("sf_sign_x", canonical_query(pairs[:-1]).encode())
    assert pairs[-1] == ("signature", signature)
    expires = int(dict(pairs)["expires"])
    assert abs(expires - time.time() - 60) < 25
    assert [pair for pair in pairs[:-1] if pair[0] not in ("key", "expires", "url")] == [
        ("full_page", "true"),
        ("hide_selectors", ".b"),
        ("hide_selectors", ".a"),
        ("viewport.width", "800"),
    ]


def test_a_link_that_the_service_would_refuse_is_refused():
    assert "headers" in NO_LINK_FIELDS
    for name in NO_LINK_FIELDS:
        with pytest.raises(InvalidRequest, match=f"`{name}`"):
            sign_link({"url": "https://example.com", name: "x"}, **SIGNING)
    with pytest.raises(InvalidRequest, match="url"):
        sign_link({"full_page": True}, **SIGNING)
    with pytest.raises(InvalidRequest, match="data.speakers"):
        sign_link({"template": "card", "data": {"speakers": [{"name": "Ada"}]}}, **SIGNING)
    assert "template=card" in sign_link({"template": "card", "data": {"title": "a"}}, **SIGNING)
    with pytest.raises(InvalidRequest, match="expires_in"):
        sign_link({"url": "https://example.com"}, **{**SIGNING, "expires_in": float("nan")})


def signature(secret=SECRET, body=BODY, at=NOW):
    return f"t={at},v1={sign(secret, f'{at}.{body}'.encode())}"


@pytest.mark.parametrize(
    "over",
    [
        {},
        {"body": BODY.encode()},
        {"headers": {"X-Service-Signature": signature()}},
        {"headers": {"x-service-signature": [signature()]}},
        {"secret": ["the new secret", SECRET]},
        {"now": NOW + 300},
        {"now": NOW - 300},
        {"now": NOW + 301, "tolerance_seconds": 400},
    ],
)
def test_a_genuine_webhook_gives_its_event(over):
    request = {"body": BODY, "headers": {"x-service-signature": signature()}, "secret": SECRET, "now": NOW, **over}
    assert verify_webhook(**request)["text"] == "ünïcödé ✓"


@pytest.mark.parametrize(
    "over",
    [
        {"body": BODY.replace("job_1", "job_2")},
        {"secret": "another secret of sixteen"},
        {"headers": {"x-service-signature": signature().replace("t=1700000000", "t=1700000001")}},
        {"headers": {"x-service-signature": signature()[:-2]}},
        {"headers": {"x-service-signature": signature() + "\n"}},
        {"headers": {"x-service-signature": signature() + ",v1=00"}},
        {"headers": {"x-service-signature": signature().replace("t=1", "t=١")}},
        {"headers": {}},
        {"now": NOW + 301},
        {"now": NOW - 301},
        {"tolerance_seconds": float("nan")},
    ],
)
def test_any_other_webhook_is_refused(over):
    request = {"body": BODY, "headers": {"x-service-signature": signature()}, "secret": SECRET, "now": NOW, **over}
    with pytest.raises(InvalidSignature):
        verify_webhook(**request)


@pytest.mark.parametrize("over", [{"body": json.loads(BODY)}, {"secret": ""}, {"secret": []}])
def test_arguments_that_allow_no_verification_are_refused(over):
    request = {"body": BODY, "headers": {"x-service-signature": signature()}, "secret": SECRET, "now": NOW, **over}
    with pytest.raises(InvalidRequest):
        verify_webhook(**request)
