"""The errors of the client. Every failure of a call is a StillframeError."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

from typing_extensions import Literal

from .wire import CaptureError, ErrorCode

ClientErrorCode = Literal["connection_failed", "timeout", "unexpected_response", "invalid_signature"]


class StillframeError(Exception):
    """The failure of a call."""

    def __init__(
        self,
        code: Union[ErrorCode, ClientErrorCode],
        message: str,
        *,
        retriable: bool = False,
        status: Optional[int] = None,
        details: Optional[Mapping[str, Any]] = None,
        request_id: Optional[str] = None,
        docs_url: Optional[str] = None,
        retry_after: Optional[float] = None,
        job_id: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        #: Whether the same request may succeed later. A capture that failed needs a new idempotency key.
        self.retriable = retriable
        #: HTTP status; None without an answer, and for a failure that a job reports.
        self.status = status
        #: Details from the server beyond the message, such as the `issues` of an invalid request.
        self.details: Dict[str, Any] = dict(details or {})
        #: Id of the request that failed. Quote it when you ask the operator.
        self.request_id = request_id
        #: The code's section of the server's reference.
        self.docs_url = docs_url
        #: Seconds to wait before the next attempt, if the server sent them.
        self.retry_after = retry_after
        reported = self.details.get("job_id")
        #: Id of the job, if there is one. It can still be looked up, and waited for after a timeout.
        self.job_id: Optional[str] = job_id or (reported if isinstance(reported, str) else None)
        #: Key of the submission. A repetition with the same key is neither rendered nor charged twice.
        self.idempotency_key: Optional[str] = None


class InvalidRequest(StillframeError):
    """The request is wrong as it stands: an invalid field or argument, or something that does not exist."""


class NotAllowed(StillframeError):
    """The API key is unknown, revoked, or lacks a scope."""


class LimitExceeded(StillframeError):
    """The rate limit or the credits of the account are exhausted."""


class CaptureFailed(StillframeError):
    """The capture has failed; `job_id` names its job."""


class ConnectionFailed(StillframeError):
    """There was no answer, or one that was cut off."""


class CallTimeout(StillframeError, TimeoutError):
    """The call took longer than its timeout. A capture continues on the server."""


class UnexpectedResponse(StillframeError):
    """The answer is not one of stillframe, such as the error page of a proxy."""


class InvalidSignature(StillframeError):
    """A webhook request is not genuine, or too old."""


_CLASSES = {
    "invalid_request": InvalidRequest,
    "unsupported_option": InvalidRequest,
    "idempotency_conflict": InvalidRequest,
    "unauthorized": NotAllowed,
    "forbidden": NotAllowed,
    "quota_exceeded": LimitExceeded,
    "rate_limited": LimitExceeded,
}


def reported_error(
    error: CaptureError,
    *,
    status: Optional[int] = None,
    retry_after: Optional[float] = None,
    job_id: Optional[str] = None,
) -> StillframeError:
    """Returns the error that the server reports, in an answer or in a job."""
    details = error.get("details")
    details = details if isinstance(details, dict) else {}
    hint = details.get("hint")
    message = f"{error['message']} {hint}" if isinstance(hint, str) else error["message"]
    has_job = job_id is not None or isinstance(details.get("job_id"), str)
    kind = _CLASSES.get(error["code"], CaptureFailed if has_job else StillframeError)
    return kind(
        error["code"],
        message,
        retriable=error.get("retriable") is True,
        status=status,
        details=details,
        request_id=error.get("request_id"),
        docs_url=error.get("docs_url"),
        retry_after=retry_after,
        job_id=job_id,
    )


def invalid_argument(message: str) -> InvalidRequest:
    return InvalidRequest("invalid_request", message)


def connection_failed(cause: object) -> ConnectionFailed:
    reason = str(cause) or type(cause).__name__
    return ConnectionFailed("connection_failed", f"The connection failed: {reason}", retriable=True)
