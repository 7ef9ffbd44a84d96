"""Against a real server, which test/clients/clients.test.ts starts, with a site on loopback."""

import os
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from stillframe import CaptureFailed, InvalidRequest, NotAllowed, verify_webhook

SITE = os.environ.get("TEST_SITE_URL", "")
SMALL = {"viewport": {"width": 400, "height": 300, "deviceScaleFactor": 1}, "format": "png", "cache_ttl": 0}
SECRET = "a secret of the receiver"


def test_a_picture_is_captured_downloaded_found_and_removed(stillframe, tmp_path):
    picture = stillframe.capture({"url": SITE, **SMALL})
    assert (picture["format"], picture["width"], picture["height"]) == ("png", 400, 300)
    content = stillframe.download(picture)
    assert content.startswith(b"\x89PNG") and len(content) == picture["bytes"]
    assert stillframe.download_to(picture["cdn_url"], tmp_path / "x.png").read_bytes() == content
    job = stillframe.job(picture["job_id"])
    assert stillframe.download(job) == content
    assert stillframe.compare({"before": job["id"], "after": job["id"]})["same"] is True
    assert job in list(stillframe.each_job(limit=1, state="completed"))
    assert stillframe.remove_job(job) == {"id": job["id"], "removed": True, "canceled": False}
    with pytest.raises(InvalidRequest) as caught:
        stillframe.job(job["id"])
    assert caught.value.status == 404


def test_a_failure_has_its_code_at_once_or_when_it_is_polled(stillframe, connect):
    failing = {"url": SITE, **SMALL, "fail_if_content_missing": ["Goodbye"]}
    with pytest.raises(CaptureFailed) as caught:
        stillframe.capture(failing)
    assert (caught.value.code, caught.value.status) == ("render_incomplete", 502)
    key = os.urandom(8).hex()
    job = stillframe.submit(failing, idempotency_key=key)
    with pytest.raises(CaptureFailed) as caught:
        stillframe.wait(job)
    assert (caught.value.job_id, caught.value.status) == (job["job_id"], None)
    assert stillframe.job_by_key(key)["state"] == "failed"
    with pytest.raises(InvalidRequest) as caught:
        stillframe.capture({"url": SITE, "format": "gif", "fullpage": True})
    assert [issue["path"] for issue in caught.value.details["issues"]] == ["format", "fullpage"]
    with pytest.raises(NotAllowed):
        connect(os.environ["STILLFRAME_URL"], "sf_live_nobody").usage()


def test_files_become_a_pdf_that_is_changed(stillframe):
    files = {"index.html": "<link rel=stylesheet href=a.css><h1>Hello", "a.css": "h1 { break-before: page }"}
    pdf = stillframe.download(stillframe.capture({"format": "pdf", "cache_ttl": 0}, files=files))
    made = stillframe.pdf({"merge": True}, uploads={"a.pdf": pdf, "b.pdf": pdf})
    assert (made.content[:5], made.type, made.pages) == (b"%PDF-", "application/pdf", 2)


def test_webhooks_and_links_are_those_of_the_server(stillframe):
    received = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append(verify_webhook(body, self.headers, SECRET))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", int(os.environ["TEST_RECEIVER_PORT"])), Receiver)
    receiving = threading.Thread(target=server.handle_request)
    receiving.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/"
        job = stillframe.submit({"url": SITE, **SMALL, "webhook": {"url": url, "secret": SECRET}})
        receiving.join(120)
    finally:
        server.server_close()
    assert [(event["event"], event["job_id"]) for event in received] == [("capture.completed", job["job_id"])]
    assert stillframe.delivery(job["job_id"])["etag"].startswith('"')
    link = stillframe.sign_link(
        {"url": SITE, **SMALL, "hide_selectors": ["h2", ".a > b"]},
        key_id=os.environ["TEST_KEY_ID"],
        signing_secret=os.environ["TEST_SIGNING_SECRET"],
        expires_in=60,
    )
    with urllib.request.urlopen(link, timeout=60) as response:
        assert response.read(4) == b"\x89PNG"


def test_watches_are_made_changed_run_and_removed(stillframe):
    watch = stillframe.create_watch({"name": "Prices", "request": {"url": SITE}, "schedule": {"cron": "@daily"}})
    assert stillframe.change_watch(watch["id"], {"paused": True})["paused"] is True
    run = stillframe.run_watch(watch["id"])
    assert stillframe.run(watch["id"], run["id"])["watch_id"] == watch["id"]
    assert [one["id"] for one in stillframe.runs(watch["id"])["runs"]] == [run["id"]]
    assert watch["id"] in [one["id"] for one in stillframe.watches(limit=100)["watches"]]
    stillframe.remove_watch(watch["id"])
    with pytest.raises(InvalidRequest):
        stillframe.watch(watch["id"])


def test_a_batch_is_waited_for(stillframe, tmp_path):
    submitted = stillframe.submit_batch({"requests": [{"url": SITE, **SMALL}, {"html": "<h1>Hello", **SMALL}]})
    batch = stillframe.wait_for_batch(submitted["id"])
    assert (batch["state"], len(stillframe.batch(batch["id"], limit=5)["captures"])) == ("completed", 2)
    assert stillframe.batch_pictures_to(batch["id"], tmp_path / "x.zip").read_bytes().startswith(b"PK")
    stillframe.remove_batch(batch["id"])


def test_usage_and_health(stillframe):
    assert stillframe.usage()["account"] == "default"
    assert stillframe.health()["ready"] is True
