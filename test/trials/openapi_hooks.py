"""Hooks of schemathesis for trial "openapi": ids of things that exist, and no address of another machine."""

import ipaddress
import json
import os
from urllib.parse import urlsplit

import schemathesis

PARAMETERS = json.loads(os.environ["TRIAL_PARAMETERS"])
SITE = os.environ["TRIAL_SITE"]


@schemathesis.hook
def map_path_parameters(context, parameters):
    """Three of four paths name what exists, except where it would be removed."""
    operation = context.operation
    if not parameters or operation.method.lower() == "delete" or len(str(parameters)) % 4 == 0:
        return parameters
    for path, real in PARAMETERS.items():
        if operation.path.startswith(path):
            return {**parameters, **{name: real[name] for name in parameters if name in real}}
    return parameters


@schemathesis.hook
def before_load_schema(context, schema):
    """A field of an answer that the document does not have is a failure, too."""
    close(schema["paths"])
    close({name: one for name, one in schema["components"]["schemas"].items() if not name.endswith("Request")})


def close(value):
    if isinstance(value, list):
        for item in value:
            close(item)
    elif isinstance(value, dict):
        if value.get("type") == "object" and "properties" in value:
            value.setdefault("additionalProperties", False)
        for key, item in value.items():
            if key != "requestBody":
                close(item)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps all but answers that the document has and a check does not expect."""
    # A server that draws pages may fail because of a page, or be full.
    if failure.code == "ST101":
        return response.status_code not in (502, 503, 504)
    # An address that has sent many requests without a valid key gets 429 instead of 401.
    return failure.code not in ("ST203", "ST401") or "429" not in failure.message


@schemathesis.hook
def before_call(context, case, kwargs):
    """Names of hosts resolve to this machine; addresses do not."""
    case.body = local(case.body)
    case.query = local(case.query)


def local(value):
    if isinstance(value, dict):
        return {key: local(item) for key, item in value.items()}
    if isinstance(value, list):
        return [local(item) for item in value]
    return SITE if isinstance(value, str) and "://" in value and not is_local(value) else value


def is_local(url):
    try:
        host = urlsplit(url).hostname or ""
        return host in ("127.0.0.1", "127.0.0.2") or not is_address(host)
    except ValueError:
        return False


def is_address(host):
    # The last label of a name that is written in digits makes it an address in URLs.
    if ":" in host or host.rstrip(".").split(".")[-1][:1].isdigit():
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
