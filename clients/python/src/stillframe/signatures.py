"""Signed links to pictures, and the signatures of webhooks."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
import time
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union, cast
from urllib.parse import quote

from .errors import InvalidSignature, invalid_argument
from .wire import (
    NO_LINK_FIELDS,
    BatchEndedEvent,
    CaptureCompletedEvent,
    CaptureFailedEvent,
    CaptureRequest,
    CaptureTemplateRequest,
)

Pair = Tuple[str, str]
WebhookEvent = Union[CaptureCompletedEvent, CaptureFailedEvent, BatchEndedEvent]
LinkRequest = Union[CaptureRequest, CaptureTemplateRequest]

SIGNATURE_HEADER = "x-service-signature"
TOLERANCE_SECONDS = 300


def sign_link(request: LinkRequest, *, base_url: str, key_id: str, signing_secret: str, expires_in: float) -> str:
    """Returns an address that shows the picture without an API key, for `<img src>` and Open Graph tags. Makes no request.

    `key_id` is the id of the API key that the captures are charged to (`key_…`), and `signing_secret` what
    `stillframe keys signing-secret` prints. `expires_in` is in seconds from now.
    """
    if not isinstance(request, Mapping):
        raise invalid_argument("`request` must be a dict.")
    texts = {"base_url": base_url, "key_id": key_id, "signing_secret": signing_secret}
    if request.get("template") is None:
        texts["url"] = cast(str, request.get("url"))
    for name, value in texts.items():
        if not isinstance(value, str) or value == "":
            raise invalid_argument(f"`{name}` must be a non-empty string.")
    refused = [name for name in NO_LINK_FIELDS if request.get(name) is not None]
    if refused:
        raise invalid_argument(f"A link must not have {', '.join(f'`{name}`' for name in refused)}.")
    if not (isinstance(expires_in, (int, float)) and math.isfinite(expires_in) and expires_in > 0):
        raise invalid_argument("`expires_in` must be a number of seconds, more than 0.")
    expires = math.floor(time.time() + expires_in)
    query = canonical_query([*_pairs(request, ""), ("key", key_id), ("expires", str(expires))])
    return f"{base_url.rstrip('/')}/v1/render?{query}&signature={sign(signing_secret, query.encode())}"


def canonical_query(pairs: Iterable[Pair]) -> str:
    """Returns the signed text: sorted by name (repeated names keep their order), in the encoding of RFC 3986."""
    encoded = [(quote(name, safe="~"), quote(value, safe="~")) for name, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted(encoded, key=lambda pair: pair[0]))


def _pairs(fields: Mapping[str, Any], prefix: str) -> List[Pair]:
    """Flattens fields to pairs, such as `viewport.width=800`, with repeated names for lists."""
    pairs: List[Pair] = []
    for name, value in fields.items():
        if isinstance(value, Mapping):
            pairs += _pairs(value, f"{prefix}{name}.")
        elif value is not None:
            items = value if isinstance(value, (list, tuple)) else [value]
            if any(item is None or isinstance(item, (Mapping, list, tuple)) for item in items):
                raise invalid_argument(f"`{prefix}{name}` is a list of objects, which a link cannot have.")
            pairs += [(prefix + name, item if isinstance(item, str) else json.dumps(item)) for item in items]
    return pairs


def sign(secret: str, content: bytes) -> str:
    """Returns the HMAC-SHA256 in hex."""
    return hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()


def verify_webhook(
    body: Union[bytes, str],
    headers: Mapping[str, Any],
    secret: Union[str, Sequence[str]],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: Optional[float] = None,
) -> WebhookEvent:
    """Verifies the signature of a webhook request in constant time, and returns its event.

    `body` is the body exactly as received, `headers` those of any framework, `secret` the `webhook.secret` of the
    submission, or several while you change it, and `now` is in Unix seconds. A request can be repeated within the
    tolerance: recognize it by `delivery_id` and `delivery_generation`.

    Raises InvalidSignature; InvalidRequest for an argument that does not allow verification.
    """
    if not isinstance(body, (bytes, bytearray, memoryview, str)):
        raise invalid_argument("`body` must be the raw body of the request: a parsed one cannot be verified.")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets or not all(isinstance(one, str) and one for one in secrets):
        raise invalid_argument("`secret` must be a non-empty string, or a list of them.")
    match = re.fullmatch(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})", _signature(headers))
    if match is None:
        raise _invalid(f"The header {SIGNATURE_HEADER} is missing or malformed.")
    timestamp, digest = match.groups()
    signed = timestamp.encode() + b"." + raw
    # All secrets are tried, so that the time does not tell which one matches.
    if not any([hmac.compare_digest(sign(one, signed), digest) for one in secrets]):
        raise _invalid("The signature does not match the body.")
    skew = abs((time.time() if now is None else now) - int(timestamp))
    # The condition is negated, so that a tolerance of NaN refuses.
    if not skew <= tolerance_seconds:
        raise _invalid("The timestamp is too far from the present.")
    return cast(WebhookEvent, json.loads(raw))


def _signature(headers: Mapping[str, Any]) -> str:
    for name, value in headers.items():
        if str(name).lower() == SIGNATURE_HEADER:
            first = value[0] if isinstance(value, (list, tuple)) and value else value
            return first if isinstance(first, str) else ""
    return ""


def _invalid(message: str) -> InvalidSignature:
    return InvalidSignature("invalid_signature", message)
