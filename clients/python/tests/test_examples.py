"""The examples for FastAPI and Django, with the real server; skipped where a framework is missing."""

import importlib.util
import os
import sys
import time
from pathlib import Path

import pytest

from stillframe.signatures import sign

EXAMPLES = Path(__file__).parents[3] / "examples"
SECRET = "a secret of the receiver"


def load(name, monkeypatch):
    if "STILLFRAME_URL" not in os.environ:
        pytest.skip("STILLFRAME_URL and STILLFRAME_KEY name no server.")
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("SITE_URL", os.environ["TEST_SITE_URL"].rstrip("/"))
    monkeypatch.setenv("STILLFRAME_KEY_ID", os.environ["TEST_KEY_ID"])
    monkeypatch.setenv("STILLFRAME_SIGNING_SECRET", os.environ["TEST_SIGNING_SECRET"])
    monkeypatch.setenv("DJANGO_SECRET_KEY", "x" * 50)
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / name / "app.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def a_webhook():
    body = '{"event":"capture.completed","job_id":"job_1","data":{"cdn_url":"https://shots.example.com/x.png"}}'
    at = int(time.time())
    return body, f"t={at},v1={sign(SECRET, f'{at}.{body}'.encode())}"


def test_the_example_for_fastapi(monkeypatch):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    module = load("fastapi", monkeypatch)
    body, signature = a_webhook()
    with TestClient(module.app) as client:
        assert client.get("/invoices/4711.pdf").content.startswith(b"%PDF-")
        for sent, status in ((f"{body} ", 400), (body, 204)):
            headers = {"x-service-signature": signature}
            assert client.post("/webhooks/stillframe", content=sent, headers=headers).status_code == status
    assert module.pictures == {"job_1": "https://shots.example.com/x.png"}


def test_the_example_for_django(monkeypatch):
    pytest.importorskip("django")
    module = load("django", monkeypatch)
    import django
    from django.test import Client

    django.setup()
    client = Client()
    body, signature = a_webhook()
    for sent, status in ((f"{body} ", 400), (body, 204)):
        headers = {"HTTP_X_SERVICE_SIGNATURE": signature}
        answer = client.post("/webhooks/stillframe", sent, content_type="application/json", **headers)
        assert answer.status_code == status
    assert module.pictures == {"job_1": "https://shots.example.com/x.png"}
    assert b"/v1/render?" in client.get("/reports/q3").content
    job = client.post("/reports/q3/capture")
    assert job.status_code == 202
    module.stillframe.remove_job(job.json()["job_id"])
