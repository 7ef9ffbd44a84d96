"""Client of stillframe, the self-hosted screenshot and PDF service."""

from .calls import Delivery, HealthReport, MadePdf, Picture, RemovedJob
from .clients import AsyncStillframe, Stillframe
from .errors import (
    CallTimeout,
    CaptureFailed,
    ConnectionFailed,
    InvalidRequest,
    InvalidSignature,
    LimitExceeded,
    NotAllowed,
    StillframeError,
    UnexpectedResponse,
)
from .signatures import WebhookEvent, sign_link, verify_webhook
from .wire import (
    AcceptedJob,
    CaptureFilesRequest,
    CaptureHtmlRequest,
    CaptureRequest,
    CompareRequest,
    Comparison,
    JobSnapshot,
    PdfRequest,
    WatchRequest,
)

__all__ = [
    "AcceptedJob",
    "AsyncStillframe",
    "CallTimeout",
    "CaptureFailed",
    "CaptureFilesRequest",
    "CaptureHtmlRequest",
    "CaptureRequest",
    "CompareRequest",
    "Comparison",
    "ConnectionFailed",
    "Delivery",
    "HealthReport",
    "InvalidRequest",
    "InvalidSignature",
    "JobSnapshot",
    "LimitExceeded",
    "MadePdf",
    "NotAllowed",
    "PdfRequest",
    "Picture",
    "RemovedJob",
    "Stillframe",
    "StillframeError",
    "UnexpectedResponse",
    "WatchRequest",
    "WebhookEvent",
    "sign_link",
    "verify_webhook",
]
