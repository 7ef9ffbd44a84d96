"""The calls of the API. Each is written once, as steps, and performed by both clients."""

from __future__ import annotations

import os
import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, TypeVar, Union, cast
from urllib.parse import quote, urlencode

from typing_extensions import Literal, TypedDict

from .errors import StillframeError, UnexpectedResponse, invalid_argument, reported_error
from .signatures import LinkRequest
from .signatures import sign_link as _sign_link
from .transport import Call, Deadline, Pause, Reply, Settings, Steps, data_of, retry_after, send
from .wire import (
    AcceptedJob,
    Batch,
    BatchPage,
    BatchRequest,
    CaptureData,
    CaptureFilesRequest,
    CaptureHtmlRequest,
    CaptureRequest,
    CaptureTemplateRequest,
    CompareRequest,
    Comparison,
    Health,
    JobPage,
    JobSnapshot,
    PdfRequest,
    Template,
    TemplateEntry,
    Usage,
    Watch,
    WatchChange,
    WatchRequest,
    WatchRun,
    WatchRunWithMessages,
    WebhookDelivery,
)

T = TypeVar("T")

#: Delays between checks of a job: about once per second initially, then slower.
_FIRST_PAUSE_S = 1.0
_PAUSE_MAX_S = 5.0
_GROWTH = 1.3
#: How often a batch is looked up.
_BATCH_PAUSE_S = 2.0

#: The content of a file, or its path.
Content = Union[str, bytes, "os.PathLike[str]"]
#: A job, or its id.
JobLike = Union[str, AcceptedJob, JobSnapshot]


class Picture(CaptureData):
    """A finished capture. Its `cdn_url` needs no API key."""

    job_id: str


class RemovedJob(TypedDict):
    """What was removed, and whether it had not ended yet."""

    id: str
    removed: Literal[True]
    canceled: bool


class Delivery(WebhookDelivery):
    """The delivery status of a job's webhook, with the ETag of its generation."""

    etag: str


class HealthReport(Health):
    """Whether the server is ready to capture, and if not, why."""

    ready: bool


class WatchPage(TypedDict):
    watches: List[Watch]
    next_cursor: Optional[str]


class RunPage(TypedDict):
    runs: List[WatchRun]
    next_cursor: Optional[str]


@dataclass(frozen=True)
class MadePdf:
    """A PDF, or a zip file with several."""

    content: bytes
    type: str
    #: Number of pages; None for a zip file.
    pages: Optional[int]


#: A picture, a job that has one, or the picture's address.
Downloadable = Union[str, Picture, CaptureData, JobSnapshot]
AnyCapture = Union[CaptureRequest, CaptureHtmlRequest, CaptureTemplateRequest, CaptureFilesRequest]


def capture(
    settings: Settings,
    request: AnyCapture,
    *,
    files: Optional[Mapping[str, Content]] = None,
    idempotency_key: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Steps[Picture]:
    """Captures a page and waits for the picture.

    `files` are the files of a document by relative path, one of them `index.html`, in place of `url` and `html`.
    Errors have `job_id` and `idempotency_key`; after a CallTimeout, `wait(error.job_id)` resumes the call.
    """
    deadline = settings.deadline(timeout)
    key = _key(idempotency_key)
    job_id: Optional[str] = None
    try:
        reply = yield from _submit(settings, request, files, key, "", deadline)
        data = data_of(reply)
        if not _is_job(data):
            return _picture(data, reply.headers.get("x-job-id"))
        job_id = cast(str, data["job_id"])
        after = retry_after(reply.headers)
        yield Pause(_FIRST_PAUSE_S if after is None else after, deadline)
        return (yield from _wait_for_job(settings, job_id, deadline))
    except StillframeError as error:
        error.job_id = error.job_id or job_id
        error.idempotency_key = key
        raise


def submit(
    settings: Settings,
    request: AnyCapture,
    *,
    files: Optional[Mapping[str, Content]] = None,
    idempotency_key: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Steps[AcceptedJob]:
    """Submits a capture without waiting for it. Use `wait` or a webhook to get the result."""
    key = _key(idempotency_key)
    try:
        reply = yield from _submit(settings, request, files, key, "?mode=async", settings.deadline(timeout))
        data = data_of(reply)
        if _is_job(data):
            return cast(AcceptedJob, data)
        job_id = _picture(data, reply.headers.get("x-job-id"))["job_id"]
        return {"job_id": job_id, "state": "completed", "poll_url": f"/v1/jobs/{job_id}"}
    except StillframeError as error:
        error.idempotency_key = key
        raise


def _submit(
    settings: Settings,
    request: AnyCapture,
    files: Optional[Mapping[str, Content]],
    key: str,
    query: str,
    deadline: Deadline,
) -> Steps[Reply]:
    call = Call(
        "POST",
        f"/v1/screenshot{query}",
        headers={"idempotency-key": key},
        body=_object(request, "request"),
        files=None if files is None else _contents(files, "files"),
    )
    return (yield from send(settings, call, deadline))


def wait(settings: Settings, job: JobLike, *, timeout: Optional[float] = None) -> Steps[Picture]:
    """Waits for the picture of a job. Raises the error of the capture, if it failed."""
    return (yield from _wait_for_job(settings, _id_of(job), settings.deadline(timeout)))


def _wait_for_job(settings: Settings, job_id: str, deadline: Deadline) -> Steps[Picture]:
    seconds = _FIRST_PAUSE_S
    while True:
        try:
            reply = yield from send(settings, Call("GET", f"/v1/jobs/{_quoted(job_id)}"), deadline)
            result = data_of(reply).get("result")
            if result is not None:
                return _picture_of(result, job_id)
            asked = retry_after(reply.headers)
            yield Pause(seconds if asked is None else max(asked, _FIRST_PAUSE_S), deadline)
        except StillframeError as error:
            error.job_id = error.job_id or job_id
            raise
        seconds = min(_PAUSE_MAX_S, seconds * _GROWTH)


def job(settings: Settings, job_id: str, *, timeout: Optional[float] = None) -> Steps[JobSnapshot]:
    """Looks up a job, whatever its state."""
    return (yield from _read(settings, timeout, Call("GET", f"/v1/jobs/{_quoted(job_id)}")))


def job_by_key(settings: Settings, idempotency_key: str, *, timeout: Optional[float] = None) -> Steps[JobSnapshot]:
    """Looks up the job that was submitted with an idempotency key."""
    return (yield from _read(settings, timeout, Call("GET", f"/v1/requests/{_quoted(idempotency_key)}")))


def jobs(
    settings: Settings,
    *,
    state: Optional[str] = None,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Steps[JobPage]:
    """Lists a page of the key's jobs, newest first."""
    query = _query(state=state, limit=limit, cursor=cursor)
    return (yield from _read(settings, timeout, Call("GET", f"/v1/jobs{query}")))


def remove_job(settings: Settings, job: JobLike, *, timeout: Optional[float] = None) -> Steps[RemovedJob]:
    """Cancels a job that has not ended, which then costs nothing, or deletes the pictures of one that has.

    Raises InvalidRequest with status 404 if there is no such job, also after a lost answer.
    """
    return (yield from _read(settings, timeout, Call("DELETE", f"/v1/jobs/{_quoted(_id_of(job))}")))


def compare(
    settings: Settings,
    request: CompareRequest,
    *,
    idempotency_key: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Steps[Comparison]:
    """Compares two pictures: jobs, addresses of pictures, pictures in base64, or capture requests, which are charged as usual."""
    headers = {"idempotency-key": _key(idempotency_key)}
    call = Call("POST", "/v1/compare", headers=headers, body=_object(request, "request"))
    return (yield from _read(settings, timeout, call))


def pdf(
    settings: Settings,
    request: PdfRequest,
    *,
    uploads: Optional[Mapping[str, Content]] = None,
    timeout: Optional[float] = None,
) -> Steps[MadePdf]:
    """Merges, splits and changes PDFs: those of `uploads`, of jobs, or at addresses of the server. Nothing is stored."""
    files = _contents(uploads or {}, "uploads")
    call = Call("POST", "/v1/pdf", body=_object(request, "request"), files=files, is_file=True)
    reply = yield from send(settings, call, settings.deadline(timeout))
    kind, pages = reply.headers.get("content-type", ""), reply.headers.get("x-pages", "")
    if kind not in ("application/pdf", "application/zip"):
        raise _incomplete(f"The answer is not a PDF or a zip file, but {kind[:100] or 'has no type'}.")
    return MadePdf(reply.body or b"", kind, int(pages) if re.fullmatch("[0-9]{1,9}", pages) else None)


def download(settings: Settings, source: Downloadable, *, timeout: Optional[float] = None) -> Steps[bytes]:
    """Downloads the file of a picture. A download that breaks off is repeated. Needs no API key, and sends none."""
    call = Call("GET", _address(source), is_file=True)
    reply = yield from send(settings, call, settings.deadline(timeout))
    return reply.body or b""


def download_to(
    settings: Settings,
    source: Downloadable,
    path: Union[str, "os.PathLike[str]"],
    *,
    timeout: Optional[float] = None,
) -> Steps[Path]:
    """Downloads as `download` does, to a file that is replaced only once the download is whole."""
    target = Path(path)
    call = Call("GET", _address(source), path=target, is_file=True)
    yield from send(settings, call, settings.deadline(timeout))
    return target


def submit_batch(
    settings: Settings,
    request: BatchRequest,
    *,
    idempotency_key: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Steps[Batch]:
    """Submits many captures, all or none, without waiting for them. Use `wait_for_batch` or a webhook to learn of their end."""
    headers = {"idempotency-key": _key(idempotency_key)}
    call = Call("POST", "/v1/batches", headers=headers, body=_object(request, "request"))
    return (yield from _read(settings, timeout, call))


def batch(
    settings: Settings,
    batch_id: str,
    *,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Steps[BatchPage]:
    """Looks up a batch with a page of its captures, failed ones first."""
    query = _query(limit=limit, cursor=cursor)
    return (yield from _read(settings, timeout, Call("GET", f"{_batch(batch_id)}{query}")))


def wait_for_batch(settings: Settings, batch_id: str, *, timeout: Optional[float] = None) -> Steps[Batch]:
    """Waits for the end of a batch. Its captures may have failed: see `counts`."""
    deadline = settings.deadline(timeout)
    while True:
        page = data_of((yield from send(settings, Call("GET", f"{_batch(batch_id)}?limit=1"), deadline)))
        if page.get("state") == "completed":
            return cast(Batch, {name: page[name] for name in page if name not in ("captures", "next_cursor")})
        yield Pause(_BATCH_PAUSE_S, deadline)


def batch_pictures_to(
    settings: Settings,
    batch_id: str,
    path: Union[str, "os.PathLike[str]"],
    *,
    timeout: Optional[float] = None,
) -> Steps[Path]:
    """Downloads the pictures of a batch as a zip file, which is replaced only once the download is whole."""
    target = Path(path)
    call = Call("GET", f"{_batch(batch_id)}/pictures.zip", path=target, is_file=True)
    yield from send(settings, call, settings.deadline(timeout))
    return target


def remove_batch(settings: Settings, batch_id: str, *, timeout: Optional[float] = None) -> Steps[None]:
    """Cancels a batch with its captures that have not ended, and deletes the pictures of the others."""
    yield from send(settings, Call("DELETE", _batch(batch_id)), settings.deadline(timeout))


def push_template(
    settings: Settings, name: str, files: Mapping[str, Content], *, timeout: Optional[float] = None
) -> Steps[Template]:
    """Stores the next version of a template. The same files as those of the newest version make no new one."""
    call = Call("PUT", _template(name), files=_contents(files, "files"))
    return (yield from _read(settings, timeout, call))


def templates(settings: Settings, *, timeout: Optional[float] = None) -> Steps[List[TemplateEntry]]:
    """Lists the templates of the account by name."""
    answer: Dict[str, List[TemplateEntry]] = yield from _read(settings, timeout, Call("GET", "/v1/templates"))
    return answer["templates"]


def template(settings: Settings, name: str, *, timeout: Optional[float] = None) -> Steps[Template]:
    """Reads a template such as `og-card`, or a version such as `og-card@3`."""
    return (yield from _read(settings, timeout, Call("GET", _template(name))))


def delete_template(settings: Settings, name: str, *, timeout: Optional[float] = None) -> Steps[None]:
    """Deletes a template, or one of its versions except the newest."""
    yield from send(settings, Call("DELETE", _template(name)), settings.deadline(timeout))


def sign_link(settings: Settings, request: LinkRequest, *, key_id: str, signing_secret: str, expires_in: float) -> str:
    """Returns an address that shows the picture without an API key, for `<img src>` and Open Graph tags. Makes no request."""
    return _sign_link(request, base_url=settings.base_url, key_id=key_id, signing_secret=signing_secret, expires_in=expires_in)


def delivery(settings: Settings, job_id: str, *, timeout: Optional[float] = None) -> Steps[Delivery]:
    """Reads the delivery status of a job's webhook."""
    return (yield from _delivery(settings, Call("GET", _webhook(job_id)), settings.deadline(timeout)))


def redeliver(
    settings: Settings, job_id: str, *, etag: Optional[str] = None, timeout: Optional[float] = None
) -> Steps[Delivery]:
    """Sends the result of a job to its webhook again. Without the `etag` of a delivery status, the current one is read first.

    Raises InvalidRequest with status 409 if the delivery is pending, or has changed since.
    """
    deadline = settings.deadline(timeout)
    if etag is None:
        etag = (yield from _delivery(settings, Call("GET", _webhook(job_id)), deadline))["etag"]
    # A second request with the same ETag would be refused, although the first one has arrived.
    call = Call("POST", f"{_webhook(job_id)}/redeliver", headers={"if-match": _header(etag, "etag")}, repeatable=False)
    return (yield from _delivery(settings, call, deadline))


def _delivery(settings: Settings, call: Call, deadline: Deadline) -> Steps[Delivery]:
    reply = yield from send(settings, call, deadline)
    return cast(Delivery, {**data_of(reply), "etag": reply.headers.get("etag", "")})


def create_watch(settings: Settings, request: WatchRequest, *, timeout: Optional[float] = None) -> Steps[Watch]:
    """Watches a page. Not repeated after a lost answer, since each call makes a watch."""
    call = Call("POST", "/v1/watches", body=_object(request, "request"), repeatable=False)
    return (yield from _read(settings, timeout, call))


def watches(
    settings: Settings, *, limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None
) -> Steps[WatchPage]:
    """Lists a page of the key's watches, newest first."""
    return (yield from _read(settings, timeout, Call("GET", f"/v1/watches{_query(limit=limit, cursor=cursor)}")))


def watch(settings: Settings, watch_id: str, *, timeout: Optional[float] = None) -> Steps[Watch]:
    """Reads a watch."""
    return (yield from _read(settings, timeout, Call("GET", _watch(watch_id))))


def change_watch(
    settings: Settings, watch_id: str, changes: WatchChange, *, timeout: Optional[float] = None
) -> Steps[Watch]:
    """Changes fields of a watch, such as `paused`."""
    return (yield from _read(settings, timeout, Call("PATCH", _watch(watch_id), body=_object(changes, "changes"))))


def remove_watch(settings: Settings, watch_id: str, *, timeout: Optional[float] = None) -> Steps[None]:
    """Removes a watch with its history."""
    yield from send(settings, Call("DELETE", _watch(watch_id)), settings.deadline(timeout))


def run_watch(settings: Settings, watch_id: str, *, timeout: Optional[float] = None) -> Steps[WatchRun]:
    """Runs a watch now, or returns the run that has not ended yet."""
    return (yield from _read(settings, timeout, Call("POST", f"{_watch(watch_id)}/run", body={}, repeatable=False)))


def runs(
    settings: Settings,
    watch_id: str,
    *,
    limit: Optional[int] = None,
    cursor: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Steps[RunPage]:
    """Lists a page of the runs of a watch, newest first."""
    query = _query(limit=limit, cursor=cursor)
    return (yield from _read(settings, timeout, Call("GET", f"{_watch(watch_id)}/runs{query}")))


def run(
    settings: Settings, watch_id: str, run_id: str, *, timeout: Optional[float] = None
) -> Steps[WatchRunWithMessages]:
    """Reads a run with its messages."""
    return (yield from _read(settings, timeout, Call("GET", _run(watch_id, run_id))))


def approve_run(
    settings: Settings, watch_id: str, run_id: str, *, timeout: Optional[float] = None
) -> Steps[WatchRunWithMessages]:
    """Makes a run the baseline of later ones."""
    call = Call("POST", f"{_run(watch_id, run_id)}/approve", body={}, repeatable=False)
    return (yield from _read(settings, timeout, call))


def redeliver_run(
    settings: Settings, watch_id: str, run_id: str, *, timeout: Optional[float] = None
) -> Steps[WatchRunWithMessages]:
    """Sends the messages of a run again."""
    call = Call("POST", f"{_run(watch_id, run_id)}/redeliver", body={}, repeatable=False)
    return (yield from _read(settings, timeout, call))


def usage(settings: Settings, *, timeout: Optional[float] = None) -> Steps[Usage]:
    """Reads the credits and jobs of the account in this period."""
    return (yield from _read(settings, timeout, Call("GET", "/v1/usage")))


def health(settings: Settings, *, timeout: Optional[float] = None) -> Steps[HealthReport]:
    """Reports whether the server is ready to capture, and if not, why."""
    reply = yield from send(settings, Call("GET", "/v1/health", also_reads=(503,)), settings.deadline(timeout))
    return cast(HealthReport, {**data_of(reply), "ready": reply.status == 200})


def _read(settings: Settings, timeout: Optional[float], call: Call) -> Steps[T]:
    return cast(T, data_of((yield from send(settings, call, settings.deadline(timeout)))))


def _is_job(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("job_id"), str) and "poll_url" in data


def _picture(data: Mapping[str, Any], job_id: Optional[str]) -> Picture:
    if data.get("cdn_url") is None or job_id is None:
        raise _incomplete("The capture has no `cdn_url`, or no job.")
    return cast(Picture, {**data, "job_id": job_id})


def _picture_of(result: Mapping[str, Any], job_id: str) -> Picture:
    if result.get("ok") is True and isinstance(result.get("data"), dict):
        return _picture(result["data"], job_id)
    if isinstance(result.get("error"), dict):
        raise reported_error(result["error"], job_id=job_id)
    raise _incomplete("The job has ended without a result.")


def _incomplete(message: str) -> UnexpectedResponse:
    return UnexpectedResponse("unexpected_response", message)


def _address(source: Any) -> str:
    address = source
    if isinstance(source, Mapping):
        result = source.get("result")
        data = source if "cdn_url" in source else result.get("data") if isinstance(result, Mapping) else None
        address = data.get("cdn_url") if isinstance(data, Mapping) else None
        if address is None:
            raise invalid_argument("There is no picture to download: the job has not completed.")
    if isinstance(address, str) and address.lower().startswith(("http://", "https://")):
        return address
    raise invalid_argument("The address must be an http or https URL.")


def _contents(files: Mapping[str, Content], name: str) -> Dict[str, bytes]:
    return {path: _bytes(content, path) for path, content in _object(files, name).items()}


def _bytes(content: Any, name: str) -> bytes:
    if isinstance(content, str):
        return _utf8(content, name)
    if isinstance(content, os.PathLike):
        return Path(content).read_bytes()
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    raise invalid_argument(f"`{name}` must be text, bytes, or the path of a file.")


def _object(value: T, name: str) -> T:
    if isinstance(value, Mapping):
        return value
    raise invalid_argument(f"`{name}` must be a dict.")


def _text(value: Any, name: str) -> str:
    if isinstance(value, str) and value != "":
        return value
    raise invalid_argument(f"`{name}` must be a non-empty string.")


def _key(given: Optional[str]) -> str:
    if given is None:
        return str(uuid.uuid4())
    return _header(given, "idempotency_key")


def _header(value: str, name: str) -> str:
    if re.fullmatch(r"[\x21-\x7e]{1,200}", _text(value, name)):
        return value
    raise invalid_argument(f"`{name}` must be 1 to 200 printable ASCII characters without spaces.")


def _id_of(job: Any) -> str:
    return _text((job.get("job_id") or job.get("id")) if isinstance(job, Mapping) else job, "job")


def _quoted(text: str) -> str:
    # Servers and HTTP libraries resolve these, even if they are encoded, so that the request would go to another path.
    if text in (".", ".."):
        raise invalid_argument(f"`{text}` is not an id.")
    return quote(_utf8(_text(text, "id"), "id"), safe="")


def _utf8(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise invalid_argument(f"`{name}` contains a surrogate, which UTF-8 cannot represent.") from error


def _webhook(job_id: str) -> str:
    return f"/v1/jobs/{_quoted(job_id)}/webhook"


def _watch(watch_id: str) -> str:
    return f"/v1/watches/{_quoted(watch_id)}"


def _batch(batch_id: str) -> str:
    return f"/v1/batches/{_quoted(batch_id)}"


def _template(name: str) -> str:
    return f"/v1/templates/{_quoted(name)}"


def _run(watch_id: str, run_id: str) -> str:
    return f"{_watch(watch_id)}/runs/{_quoted(run_id)}"


def _query(**fields: Union[str, int, None]) -> str:
    given = {name: value for name, value in fields.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""
