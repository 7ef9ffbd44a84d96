import threading
import time

import pytest
from conftest import answer, cut, cut_in_body, data, failure

from stillframe import (
    CallTimeout,
    CaptureFailed,
    ConnectionFailed,
    InvalidRequest,
    LimitExceeded,
    NotAllowed,
    StillframeError,
    UnexpectedResponse,
)
from stillframe.transport import retry_after

REQUEST = {"url": "https://example.com"}
CAPTURED = data({"cdn_url": "http://127.0.0.1/artifacts/x.png", "format": "png"}, x_job_id="job_1")
ACCEPTED = data({"job_id": "job_1", "state": "waiting", "poll_url": "/v1/jobs/job_1"}, status=202, retry_after="0")


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch):
    monkeypatch.setattr("stillframe.transport._FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr("stillframe.calls._FIRST_PAUSE_S", 0.01)


@pytest.mark.parametrize(
    "bad",
    [
        cut,
        failure(503, "internal_error", True, retry_after="0"),
        failure(429, "rate_limited", True, retry_after="0"),
        answer(502, b"<h1>Bad gateway</h1>"),
    ],
)
def test_a_capture_is_repeated_with_the_same_key(connect, stand_in, bad):
    stand_in.script(bad, CAPTURED)
    assert connect(stand_in.url).capture(REQUEST)["job_id"] == "job_1"
    keys = [headers["idempotency-key"] for _, _, headers, _ in stand_in.requests]
    assert len(keys) == 2 and len(set(keys)) == 1
    assert {headers["authorization"] for _, _, headers, _ in stand_in.requests} == {"Bearer sf_live_test"}


@pytest.mark.parametrize(
    "bad, kind",
    [
        (failure(400, "invalid_request", details={"issues": []}), InvalidRequest),
        (failure(401, "unauthorized"), NotAllowed),
        (failure(402, "quota_exceeded"), LimitExceeded),
        (failure(502, "render_incomplete", True, {"job_id": "job_1"}), CaptureFailed),
        (answer(200, b"<h1>Welcome</h1>"), UnexpectedResponse),
        (answer(302, b"", location="http://127.0.0.9/"), UnexpectedResponse),
    ],
)
def test_other_failures_are_not_repeated(connect, stand_in, bad, kind):
    stand_in.script(bad)
    with pytest.raises(kind) as caught:
        connect(stand_in.url).capture(REQUEST, idempotency_key="order-4711")
    assert caught.value.idempotency_key == "order-4711"
    assert len(stand_in.requests) == 1


def test_retries_end_after_max_retries_or_when_the_server_asks_for_too_long(connect, stand_in):
    stand_in.script(cut)
    with pytest.raises(ConnectionFailed):
        connect(stand_in.url, max_retries=2).usage()
    assert len(stand_in.requests) == 3
    stand_in.script(failure(503, "internal_error", True, retry_after="60"))
    with pytest.raises(StillframeError) as caught:
        connect(stand_in.url, timeout=30).usage()
    assert (caught.value.status, caught.value.retry_after, len(stand_in.requests)) == (503, 60, 1)


def test_calls_that_cannot_be_repeated_are_sent_once_unless_they_were_refused_unread(connect, stand_in):
    stand_in.script(cut, data({}))
    with pytest.raises(ConnectionFailed):
        connect(stand_in.url).redeliver("job_1", etag='"dlv_1.1"')
    assert len(stand_in.requests) == 1
    stand_in.script(failure(429, "rate_limited", True, retry_after="0"), data({}, etag='"dlv_1.2"'))
    assert connect(stand_in.url).redeliver("job_1", etag='"dlv_1.1"')["etag"] == '"dlv_1.2"'


def test_an_accepted_job_is_polled_until_it_has_ended(connect, stand_in):
    done = {"ok": True, "data": {"cdn_url": "http://127.0.0.1/x.png"}}
    stand_in.script(ACCEPTED, data({"id": "job_1", "state": "active"}), data({"id": "job_1", "result": done}))
    assert connect(stand_in.url).capture(REQUEST)["job_id"] == "job_1"
    assert [path for _, path, _, _ in stand_in.requests][1:] == ["/v1/jobs/job_1"] * 2
    error = {"code": "render_timeout", "message": "No.", "retriable": True, "request_id": "req_1"}
    stand_in.script(ACCEPTED, data({"id": "job_1", "result": {"ok": False, "error": error}}))
    with pytest.raises(CaptureFailed) as caught:
        connect(stand_in.url).capture(REQUEST)
    assert (caught.value.job_id, caught.value.status, len(stand_in.requests)) == ("job_1", None, 2)


def test_a_call_ends_after_its_timeout_with_the_job_to_wait_for(connect, stand_in):
    released = threading.Event()
    stand_in.script(ACCEPTED, lambda _: released.wait(30))
    began = time.monotonic()
    with pytest.raises(CallTimeout) as caught:
        connect(stand_in.url).capture(REQUEST, timeout=1.0)
    assert time.monotonic() - began < 25
    assert caught.value.job_id == "job_1" and caught.value.retriable
    assert isinstance(caught.value, TimeoutError)
    released.set()


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nx: ", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9;"])
def test_a_server_that_drips_bytes_holds_no_call_beyond_its_timeout(connect, stand_in, begin):
    def drip(handler):
        handler.close_connection = True
        try:
            handler.wfile.write(begin)
            for _ in range(1500):
                if released.wait(0.02):
                    break
                handler.wfile.write(b"x")
        except OSError:
            pass

    released = threading.Event()
    stand_in.script(drip)
    began = time.monotonic()
    with pytest.raises(CallTimeout):
        connect(stand_in.url).usage(timeout=0.3)
    assert time.monotonic() - began < 25
    released.set()


def test_a_download_has_its_name_only_once_it_is_whole(connect, stand_in, tmp_path):
    target = tmp_path / "picture.png"
    target.write_bytes(b"before")
    stand_in.script(cut_in_body)
    with pytest.raises(ConnectionFailed):
        connect(stand_in.url, max_retries=0).download_to(f"{stand_in.url}/x.png", target)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("picture.png", b"before")]
    stand_in.script(cut_in_body, answer(302, b"", location="/there.png"), answer(200, b"whole"))
    assert connect(stand_in.url).download_to(f"{stand_in.url}/x.png", target) == target
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("picture.png", b"whole")]
    assert [headers["authorization"] for _, _, headers, _ in stand_in.requests] == [None] * 3


def test_an_endless_error_is_read_only_in_part(connect, stand_in):
    def endless(handler):
        handler.send_response(500)
        handler.end_headers()
        handler.close_connection = True
        try:
            while True:
                handler.wfile.write(b"x" * 65_536)
        except OSError:
            ended.set()

    ended = threading.Event()
    stand_in.script(endless)
    with pytest.raises(UnexpectedResponse, match="too long"):
        connect(stand_in.url, max_retries=0).usage()
    assert ended.wait(30)


def test_files_are_sent_as_a_form(connect, stand_in, tmp_path):
    (tmp_path / "a.css").write_text("h1 { color: red }")
    stand_in.script(cut, CAPTURED)
    files = {"index.html": "<h1>Hé", "css/a.css": tmp_path / "a.css"}
    connect(stand_in.url).capture({"full_page": True}, files=files)
    _, _, headers, body = stand_in.requests[-1]
    assert headers["content-type"].startswith("multipart/form-data; boundary=")
    for part in ('{"full_page":true}', 'filename="css/a.css"', "color: red", "<h1>Hé"):
        assert part.encode() in body


def test_templates_are_stored_listed_and_deleted(connect, stand_in):
    stand_in.script(data({"name": "card"}), data({"templates": [{"name": "card"}]}), data({"removed": True}))
    client = connect(stand_in.url)
    assert client.push_template("card", {"index.html": "<h1>{{title}}"}) == {"name": "card"}
    assert client.templates() == [{"name": "card"}]
    assert client.delete_template("card@1") is None
    assert [(method, path) for method, path, _, _ in stand_in.requests] == [
        ("PUT", "/v1/templates/card"),
        ("GET", "/v1/templates"),
        ("DELETE", "/v1/templates/card%401"),
    ]
    form = stand_in.requests[0][3]
    assert b'filename="index.html"' in form and b'name="request"' not in form


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.capture("https://example.com"),
        lambda client: client.capture({"url": "https://example.com", "delay": float("nan")}),
        lambda client: client.capture({"url": "https://example.com"}, timeout=0),
        lambda client: client.capture({"url": "https://example.com"}, idempotency_key="ü"),
        lambda client: client.capture({"url": "https://example.com"}, idempotency_key="a\nb"),
        lambda client: client.capture({}, files={"index.html": "\ud800"}),
        lambda client: client.redeliver("job_1", etag="a\r\nb: c"),
        lambda client: client.job(None),
        lambda client: client.job("\ud800"),
        lambda client: client.remove_batch(".."),
        lambda client: client.approve_run("..", ".."),
        lambda client: client.wait(""),
        lambda client: client.pdf({"merge": True}, uploads={"a.pdf": 1}),
        lambda client: client.download({"id": "job_1", "state": "waiting"}),
        lambda client: client.download({"id": "job_1", "result": {"ok": False}}),
        lambda client: client.download("file:///etc/passwd"),
    ],
)
def test_arguments_that_allow_no_call_are_refused_before_it(connect, stand_in, call):
    with pytest.raises(InvalidRequest):
        call(connect(stand_in.url))
    assert stand_in.requests == []


def test_a_page_in_place_of_a_pdf_is_refused(connect, stand_in):
    stand_in.script(answer(200, b"<h1>Sign in", content_type="text/html"))
    with pytest.raises(UnexpectedResponse, match="text/html"):
        connect(stand_in.url).pdf({"merge": True})


@pytest.mark.parametrize("options", [{"url": "ftp://x"}, {"url": "http://a@x"}, {"url": "http://a/?"}, {"key": "a b"}, {"max_retries": -1}])
def test_settings_that_allow_no_client_are_refused(connect, options):
    with pytest.raises(InvalidRequest):
        connect(**{"url": "http://127.0.0.1", **options})


def test_retry_after_is_read_as_seconds_or_as_a_date():
    def read(text):
        return retry_after({"retry-after": text})

    assert [read("7"), read("999999"), read("-1"), read("soon"), read("١")] == [7, 86_400, None, None, None]
    assert read("Thu, 01 Jan 1970 00:00:00 GMT") == 0
    assert read("Fri, 31 Dec 9999 23:59:59 GMT") == 86_400
    assert retry_after({}) is None
