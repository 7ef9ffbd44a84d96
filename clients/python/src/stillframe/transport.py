"""HTTP requests with retries, as generators of steps that a blocking or an asynchronous client performs. Knows nothing of captures.

The API key goes to `base_url` only: API calls follow no redirect, and downloads carry no key.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
import uuid
from dataclasses import dataclass, field
from datetime import timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Dict, Generator, List, Mapping, Optional, Protocol, Tuple, TypeVar, Union

import httpx

from .errors import (
    CallTimeout,
    StillframeError,
    UnexpectedResponse,
    invalid_argument,
    reported_error,
)

TIMEOUT_S = 180.0
MAX_RETRIES = 4
#: Time limit for the headers of one answer. A synchronous capture is answered within 25 s, unless the operator has set another wait.
ATTEMPT_S = 60.0
_FIRST_PAUSE_S = 0.5
_PAUSE_MAX_S = 8.0
#: A longer Retry-After is assumed to be a mistake.
_RETRY_AFTER_MAX_S = 86_400.0
#: Maximum size of an answer. A page of 100 jobs with inspections has at most about 30 MB.
_ANSWER_LIMIT_BYTES = 64 * 1024 * 1024
_ERROR_LIMIT_BYTES = 64 * 1024
_EXCERPT_CHARS = 200
#: Statuses of proxies and load balancers that another attempt may not get.
_PASSING_STATUSES = {408, 425, 429, 500, 502, 503, 504}


class Deadline:
    """The end of a call."""

    def __init__(self, seconds: float) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 2_147_483:
            raise invalid_argument("`timeout` must be a number of seconds, more than 0 and less than 25 days.")
        self._seconds = seconds
        self._ends_at = time.monotonic() + seconds

    def left(self) -> float:
        """Returns the remaining seconds; 0 when the time has passed."""
        return max(0.0, self._ends_at - time.monotonic())

    def error(self) -> CallTimeout:
        return CallTimeout("timeout", f"The call has not ended within {self._seconds:g} s.", retriable=True)


class Sink(Protocol):
    """Takes the body of an answer."""

    def write(self, chunk: bytes) -> bool:
        """Returns whether more is wanted."""

    def finish(self) -> Optional[bytes]:
        """Returns the content; None if it is elsewhere, or was too long."""

    def discard(self) -> None:
        """Ends an answer that was cut off; does nothing after `finish`."""


class Memory:
    def __init__(self, limit: Optional[int] = None) -> None:
        self._limit = limit
        self._content: Optional[bytearray] = bytearray()

    def write(self, chunk: bytes) -> bool:
        if self._content is None or (self._limit is not None and len(self._content) + len(chunk) > self._limit):
            self._content = None
            return False
        self._content += chunk
        return True

    def finish(self) -> Optional[bytes]:
        return None if self._content is None else bytes(self._content)

    def discard(self) -> None:
        pass


class File:
    """A file that has its name once it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}")
        self._file = open(self._part, "xb")

    def write(self, chunk: bytes) -> bool:
        self._file.write(chunk)
        return True

    def finish(self) -> Optional[bytes]:
        self._file.close()
        os.replace(self._part, self._path)
        return None

    def discard(self) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)


@dataclass(frozen=True)
class Call:
    method: str
    #: Path below `base_url`, starting with a slash; or, for downloads, a URL.
    to: str
    #: Whether it may be sent again after a failure that leaves open whether it arrived.
    repeatable: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    #: A JSON document, which in a form is the part `request`.
    body: Any = None
    #: Files of a form, by name.
    files: Optional[Mapping[str, bytes]] = None
    #: Statuses other than 2xx that are no failures.
    also_reads: Tuple[int, ...] = ()
    #: Where a download is stored; None for the memory.
    path: Optional[Path] = None
    #: Whether the answer is a file instead of a JSON envelope.
    is_file: bool = False


@dataclass(frozen=True)
class Reply:
    status: int
    headers: httpx.Headers
    #: None if it is in a file, or was too long.
    body: Optional[bytes]


@dataclass(frozen=True)
class Attempt:
    """A step: sends a request once. Its result is a Reply."""

    call: Call
    deadline: Deadline


@dataclass(frozen=True)
class Pause:
    """A step: waits."""

    seconds: float
    deadline: Deadline


T = TypeVar("T")
#: The work of a call. StillframeErrors of a step are thrown into it.
Steps = Generator[Union[Attempt, Pause], Any, T]


@dataclass(frozen=True)
class Settings:
    base_url: str
    api_key: str = field(repr=False)
    timeout: float = TIMEOUT_S
    max_retries: int = MAX_RETRIES

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.base_url)
        except (httpx.InvalidURL, TypeError):
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host or url.userinfo or re.search("[?#]", str(url)):
            raise invalid_argument("`base_url` must be the http or https address of the server, such as https://shots.example.com.")
        if not isinstance(self.api_key, str) or not re.fullmatch(r"[\x21-\x7e]+", self.api_key):
            raise invalid_argument("`api_key` must be an API key of the server, such as sf_live_….")
        if isinstance(self.max_retries, bool) or not isinstance(self.max_retries, int) or self.max_retries < 0:
            raise invalid_argument("`max_retries` must be a whole number from 0 up.")
        Deadline(self.timeout)
        object.__setattr__(self, "base_url", str(url).rstrip("/"))

    def deadline(self, timeout: Optional[float]) -> Deadline:
        return Deadline(self.timeout if timeout is None else timeout)

    def request(self, call: Call) -> Dict[str, Any]:
        """Returns the arguments of httpx's `build_request`."""
        if not call.to.startswith("/"):
            return {"method": call.method, "url": call.to, "headers": dict(call.headers)}
        headers = {"accept": "application/json", "authorization": f"Bearer {self.api_key}", **call.headers}
        request = {"method": call.method, "url": self.base_url + call.to, "headers": headers}
        if call.files is not None:
            parts: List[Tuple[str, Tuple[Optional[str], bytes]]] = []
            if call.body is not None:
                parts.append(("request", (None, _json(call.body))))
            parts += [("files", (name, content)) for name, content in call.files.items()]
            return {**request, "files": parts}
        if call.body is None:
            return request
        return {**request, "headers": {**headers, "content-type": "application/json"}, "content": _json(call.body)}


def _json(value: object) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise invalid_argument(f"The request cannot be written as JSON: {error}") from error


def is_read(call: Call, status: int) -> bool:
    """Returns whether an answer with this status is no failure."""
    return 200 <= status < 300 or status in call.also_reads


def sink_for(call: Call, status: int) -> Sink:
    if not is_read(call, status):
        return Memory(_ERROR_LIMIT_BYTES)
    if call.path is not None:
        return File(call.path)
    return Memory(None if call.is_file else _ANSWER_LIMIT_BYTES)


def send(settings: Settings, call: Call, deadline: Deadline) -> Steps[Reply]:
    """Sends a request until it succeeds, fails for good, or has been tried `max_retries + 1` times."""
    retries = 0
    while True:
        try:
            reply: Reply = yield Attempt(call, deadline)
            if is_read(call, reply.status):
                if not call.is_file:
                    data_of(reply)
                return reply
            raise _failure(reply)
        except CallTimeout:
            raise
        except StillframeError as error:
            wait = _pause_seconds(error, retries)
            # If the retry came too late, this failure would be more useful than a timeout.
            if retries >= settings.max_retries or not _is_worth_retrying(error, call) or wait >= deadline.left():
                raise
        yield Pause(wait, deadline)
        retries += 1


def _is_worth_retrying(error: StillframeError, call: Call) -> bool:
    # A failure with a job is that of the capture, and the same idempotency key does not start another one.
    if not error.retriable or error.job_id is not None:
        return False
    return call.repeatable or error.status in (429, 503)


def _pause_seconds(error: StillframeError, retries: int) -> float:
    """Returns the delay that the server asks for, or else twice as long each time, between half and all of it."""
    if error.retry_after is not None:
        return error.retry_after
    return min(_PAUSE_MAX_S, _FIRST_PAUSE_S * 2.0 ** min(retries, 10)) * random.uniform(0.5, 1)


def data_of(reply: Reply) -> Any:
    """Returns the `data` of an envelope. Raises UnexpectedResponse."""
    data = _parsed(reply).get("data")
    if not isinstance(data, dict):
        raise _unexpected(reply)
    return data


def _failure(reply: Reply) -> StillframeError:
    if 300 <= reply.status < 400:
        to = reply.headers.get("location", "")[:_EXCERPT_CHARS]
        message = (
            f"The server redirects{f' to {to}' if to else ''}. "
            "Set `base_url` to its own address: the API key is sent nowhere else."
        )
        return UnexpectedResponse("unexpected_response", message, status=reply.status)
    error = _parsed(reply).get("error")
    if not isinstance(error, dict) or not isinstance(error.get("code"), str) or not isinstance(error.get("message"), str):
        return _unexpected(reply)
    return reported_error(error, status=reply.status, retry_after=retry_after(reply.headers))  # type: ignore[arg-type]


def _parsed(reply: Reply) -> Dict[str, Any]:
    try:
        body = json.loads(reply.body or b"")
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _unexpected(reply: Reply) -> UnexpectedResponse:
    if reply.body is None:
        excerpt = "a body that is too long"
    else:
        text = reply.body[: _EXCERPT_CHARS * 4].decode("utf-8", "replace")
        excerpt = " ".join(text.split())[:_EXCERPT_CHARS] or "it is empty"
    return UnexpectedResponse(
        "unexpected_response",
        f"The answer with status {reply.status} is not one of stillframe: {excerpt}",
        retriable=reply.status in _PASSING_STATUSES,
        status=reply.status,
        retry_after=retry_after(reply.headers),
        request_id=reply.headers.get("x-request-id"),
    )


def retry_after(headers: Mapping[str, str]) -> Optional[float]:
    """Reads the seconds of `Retry-After`: whole seconds, or a date; None if it is missing or malformed."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(float(text), _RETRY_AFTER_MAX_S)
    try:
        at = parsedate_to_datetime(text)
        at = at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)
        return min(max(0.0, at.timestamp() - time.time()), _RETRY_AFTER_MAX_S)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
