"""The clients, which perform the steps of calls: one blocks, the other awaits."""

from __future__ import annotations

import contextvars
import functools
import socket
import threading
import time
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Coroutine, Iterator, Optional, Type, TypeVar, Union

import anyio
import httpx
from typing_extensions import Concatenate, ParamSpec, Self

from . import calls
from .errors import StillframeError, connection_failed
from .transport import ATTEMPT_S, MAX_RETRIES, TIMEOUT_S, Attempt, Call, Pause, Reply, Settings, Steps, sink_for
from .wire import JobSnapshot

P = ParamSpec("P")
T = TypeVar("T")

_NO_ANSWER = f"no answer within {ATTEMPT_S:g} s"
#: What httpx raises for requests that fail.
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)


def _blocking(call: Callable[Concatenate[Settings, P], Steps[T]]) -> Callable[Concatenate["Stillframe", P], T]:
    @functools.wraps(call)
    def method(self: Stillframe, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._perform(call(self.settings, *args, **kwargs))

    return method


def _awaited(
    call: Callable[Concatenate[Settings, P], Steps[T]],
) -> Callable[Concatenate["AsyncStillframe", P], Coroutine[Any, Any, T]]:
    @functools.wraps(call)
    async def method(self: AsyncStillframe, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._perform(call(self.settings, *args, **kwargs))

    return method


def _immediate(call: Callable[Concatenate[Settings, P], T]) -> Callable[Concatenate[Any, P], T]:
    @functools.wraps(call)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return call(self.settings, *args, **kwargs)

    return method


class Stillframe:
    """A client of one stillframe server, which blocks. Calls raise a StillframeError. May be used by several threads.

    `timeout` is in seconds, and covers a call with its retries and its waiting.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
        http_client: Optional[httpx.Client] = None,
    ) -> None:
        self.settings = Settings(base_url, api_key, timeout, max_retries)
        self._http = httpx.Client() if http_client is None else http_client
        self._owns_http = http_client is None

    def close(self) -> None:
        """Closes the connections, except those of an `http_client` of the caller."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        self.close()

    capture = _blocking(calls.capture)
    submit = _blocking(calls.submit)
    wait = _blocking(calls.wait)
    job = _blocking(calls.job)
    job_by_key = _blocking(calls.job_by_key)
    jobs = _blocking(calls.jobs)
    remove_job = _blocking(calls.remove_job)
    compare = _blocking(calls.compare)
    pdf = _blocking(calls.pdf)
    download = _blocking(calls.download)
    download_to = _blocking(calls.download_to)
    submit_batch = _blocking(calls.submit_batch)
    batch = _blocking(calls.batch)
    wait_for_batch = _blocking(calls.wait_for_batch)
    batch_pictures_to = _blocking(calls.batch_pictures_to)
    remove_batch = _blocking(calls.remove_batch)
    push_template = _blocking(calls.push_template)
    templates = _blocking(calls.templates)
    template = _blocking(calls.template)
    delete_template = _blocking(calls.delete_template)
    sign_link = _immediate(calls.sign_link)
    delivery = _blocking(calls.delivery)
    redeliver = _blocking(calls.redeliver)
    create_watch = _blocking(calls.create_watch)
    watches = _blocking(calls.watches)
    watch = _blocking(calls.watch)
    change_watch = _blocking(calls.change_watch)
    remove_watch = _blocking(calls.remove_watch)
    run_watch = _blocking(calls.run_watch)
    runs = _blocking(calls.runs)
    run = _blocking(calls.run)
    approve_run = _blocking(calls.approve_run)
    redeliver_run = _blocking(calls.redeliver_run)
    usage = _blocking(calls.usage)
    health = _blocking(calls.health)

    def each_job(self, *, state: Optional[str] = None, limit: Optional[int] = None) -> Iterator[JobSnapshot]:
        """Lists all of the key's jobs, newest first, page after page."""
        cursor: Optional[str] = None
        while True:
            page = self.jobs(state=state, limit=limit, cursor=cursor)
            yield from page["jobs"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _perform(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                try:
                    result = self._step(step)
                except StillframeError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    def _step(self, step: Union[Attempt, Pause]) -> Optional[Reply]:
        deadline = step.deadline
        left = deadline.left()
        if isinstance(step, Pause):
            time.sleep(min(step.seconds, left))
        if deadline.left() <= 0:
            raise deadline.error()
        return None if isinstance(step, Pause) else self._attempt(step)

    def _attempt(self, attempt: Attempt) -> Reply:
        call, deadline = attempt.call, attempt.deadline
        try:
            timeout = min(deadline.left(), ATTEMPT_S)
            request = self._http.build_request(**self.settings.request(call), timeout=timeout)
            exchange = _Exchange(self._http, request, call)
            try:
                if not exchange.answered.wait(timeout):
                    raise httpx.ReadTimeout(_NO_ANSWER)
                exchange.join(deadline.left())
                return exchange.reply()
            finally:
                exchange.abandon()
        except _FAILURES as error:
            if deadline.left() <= 0:
                raise deadline.error() from error
            raise connection_failed(_NO_ANSWER if isinstance(error, httpx.TimeoutException) else error) from error


class _Exchange(threading.Thread):
    """A request and its answer. httpx limits the time of each read, and not that of all: a thread can be left behind."""

    def __init__(self, http: httpx.Client, request: httpx.Request, call: Call) -> None:
        super().__init__(daemon=True)
        self._http, self._request, self._call = http, request, call
        self._context = contextvars.copy_context()
        self._response: Optional[httpx.Response] = None
        self._reply: Optional[Reply] = None
        self._error: Optional[BaseException] = None
        self._is_abandoned = False
        #: Set when the answer has begun, or when there will be none.
        self.answered = threading.Event()
        self.start()

    def run(self) -> None:
        self._context.run(self._exchange)

    def _exchange(self) -> None:
        try:
            follow = not self._call.to.startswith("/")
            self._response = self._http.send(self._request, stream=True, follow_redirects=follow)
            self.answered.set()
            try:
                self._reply = self._read(self._response)
            finally:
                self._response.close()
        except BaseException as error:
            self._error = error
        finally:
            self.answered.set()

    def _read(self, response: httpx.Response) -> Reply:
        sink = sink_for(self._call, response.status_code)
        try:
            for chunk in response.iter_bytes():
                if self._is_abandoned or not sink.write(chunk):
                    break
            if self._is_abandoned:
                raise httpx.ReadTimeout(_NO_ANSWER)
            return Reply(response.status_code, response.headers, sink.finish())
        except BaseException:
            sink.discard()
            raise

    def reply(self) -> Reply:
        """Returns the answer, raises why there is none, or that it has not ended."""
        if self._reply is not None:
            return self._reply
        raise self._error or httpx.ReadTimeout(_NO_ANSWER)

    def abandon(self) -> None:
        """Ends the thread as soon as possible."""
        self._is_abandoned = True
        response = self._response
        # A connection of HTTP/2 may have other requests.
        if self.is_alive() and response is not None and response.http_version != "HTTP/2":
            try:
                stream = response.extensions["network_stream"]
                socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)
            except (KeyError, OSError, TypeError):
                pass


class AsyncStillframe:
    """A client of one stillframe server for asyncio and trio. Calls raise a StillframeError.

    `timeout` is in seconds, and covers a call with its retries and its waiting. A call that is canceled ends at once; its
    capture continues on the server.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        self.settings = Settings(base_url, api_key, timeout, max_retries)
        self._http = httpx.AsyncClient() if http_client is None else http_client
        self._owns_http = http_client is None

    async def aclose(self) -> None:
        """Closes the connections, except those of an `http_client` of the caller."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        await self.aclose()

    capture = _awaited(calls.capture)
    submit = _awaited(calls.submit)
    wait = _awaited(calls.wait)
    job = _awaited(calls.job)
    job_by_key = _awaited(calls.job_by_key)
    jobs = _awaited(calls.jobs)
    remove_job = _awaited(calls.remove_job)
    compare = _awaited(calls.compare)
    pdf = _awaited(calls.pdf)
    download = _awaited(calls.download)
    download_to = _awaited(calls.download_to)
    submit_batch = _awaited(calls.submit_batch)
    batch = _awaited(calls.batch)
    wait_for_batch = _awaited(calls.wait_for_batch)
    batch_pictures_to = _awaited(calls.batch_pictures_to)
    remove_batch = _awaited(calls.remove_batch)
    push_template = _awaited(calls.push_template)
    templates = _awaited(calls.templates)
    template = _awaited(calls.template)
    delete_template = _awaited(calls.delete_template)
    sign_link = _immediate(calls.sign_link)
    delivery = _awaited(calls.delivery)
    redeliver = _awaited(calls.redeliver)
    create_watch = _awaited(calls.create_watch)
    watches = _awaited(calls.watches)
    watch = _awaited(calls.watch)
    change_watch = _awaited(calls.change_watch)
    remove_watch = _awaited(calls.remove_watch)
    run_watch = _awaited(calls.run_watch)
    runs = _awaited(calls.runs)
    run = _awaited(calls.run)
    approve_run = _awaited(calls.approve_run)
    redeliver_run = _awaited(calls.redeliver_run)
    usage = _awaited(calls.usage)
    health = _awaited(calls.health)

    async def each_job(self, *, state: Optional[str] = None, limit: Optional[int] = None) -> AsyncIterator[JobSnapshot]:
        """Lists all of the key's jobs, newest first, page after page."""
        cursor: Optional[str] = None
        while True:
            page = await self.jobs(state=state, limit=limit, cursor=cursor)
            for job in page["jobs"]:
                yield job
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def _perform(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                try:
                    result = await self._step(step)
                except StillframeError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    async def _step(self, step: Union[Attempt, Pause]) -> Optional[Reply]:
        with anyio.move_on_after(step.deadline.left()):
            if isinstance(step, Attempt):
                return await self._attempt(step)
            await anyio.sleep(step.seconds)
            return None
        raise step.deadline.error()

    async def _attempt(self, attempt: Attempt) -> Reply:
        call = attempt.call
        try:
            request = self._http.build_request(**self.settings.request(call), timeout=None)
            response: Optional[httpx.Response] = None
            with anyio.move_on_after(ATTEMPT_S):
                follow = not call.to.startswith("/")
                response = await self._http.send(request, stream=True, follow_redirects=follow)
            if response is None:
                raise connection_failed(_NO_ANSWER)
            try:
                sink = sink_for(call, response.status_code)
                try:
                    async for chunk in response.aiter_bytes():
                        if not sink.write(chunk):
                            break
                    return Reply(response.status_code, response.headers, sink.finish())
                except BaseException:
                    sink.discard()
                    raise
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        except _FAILURES as error:
            raise connection_failed(error) from error
