"""A TCP proxy to a unix socket that can lose all bytes, as a broken network does."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Passes bytes on while it is open, and drops them silently while it is shut."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._is_open = True
        self._last_requests: list[bytes] = []
        self._writers: set[asyncio.StreamWriter] = set()

    def start(self) -> None:
        self._thread.start()
        serving = asyncio.start_server(self._serve, sock=self._socket)
        running = asyncio.run_coroutine_threadsafe(serving, self._loop)
        self._server = running.result(10)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def shut(self) -> None:
        self._is_open = False

    def shut_after(self, *requests: bytes) -> None:
        """Pass on bytes until each of these has been seen; lose the answer to the last.

        With several, the COMMIT of one transaction differs from those of others.
        """
        self._last_requests = list(requests)

    @property
    def is_open(self) -> bool:
        return self._is_open

    def open(self) -> None:
        """Pass bytes on again; connections that lost bytes are aborted."""
        self._is_open = True
        self._loop.call_soon_threadsafe(self._break_all)

    def _break_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _end(self) -> None:
        self._server.close()
        self._break_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._writers.add(writer)
        try:
            there_reader, there = await asyncio.open_unix_connection(self._target)
            self._writers.add(there)
            await asyncio.gather(
                self._pass_on(reader, there), self._pass_on(there_reader, writer)
            )
        except OSError:
            writer.transport.abort()

    async def _pass_on(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        while data := await source.read(65536):
            if self._is_open:
                sink.write(data)
                if self._last_requests and self._last_requests[0] in data:
                    del self._last_requests[0]
                    self._is_open = bool(self._last_requests)
                await sink.drain()
        sink.close()


@contextmanager
def gate(target: str) -> Iterator[Gate]:
    """Open a gate to a unix socket on a free port of 127.0.0.1."""
    made = Gate(target)
    made.start()
    try:
        yield made
    finally:
        made.stop()
