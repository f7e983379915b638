"""A TCP relay that delays every byte and every close by the same time: a long path."""

import asyncio
from contextlib import suppress

_Way = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Relay:
    """Listens on 127.0.0.1 and passes each connection on to another port."""

    def __init__(self, target_port: int, delay: float) -> None:
        self._target_port = target_port
        self._delay = delay
        self._upstream_ports: dict[int, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._server = server

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def upstream_port(self, port: int) -> int:
        """Return the port from which a client's connection is passed on; 0 if none."""
        return self._upstream_ports.pop(port, 0)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        client_port = writer.get_extra_info("peername")[1]
        try:
            up_reader, up_writer = await asyncio.open_connection(
                "127.0.0.1", self._target_port
            )
        except OSError:
            writer.transport.abort()
            return
        own_port = up_writer.get_extra_info("sockname")[1]
        self._upstream_ports[client_port] = own_port
        task = asyncio.create_task(
            self._pass_both_ways((reader, up_writer), (up_reader, writer))
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_both_ways(self, *ways: _Way) -> None:
        try:
            await asyncio.gather(*(self._pump(*way) for way in ways))
            # Wait until the close has been passed on to both sides.
            await asyncio.sleep(2 * self._delay)
        finally:
            for _, sink in ways:
                sink.close()

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        """Pass on what one side sends, in order, each part after the delay."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                data = await source.read(65536)
            except OSError:
                loop.call_later(self._delay, sink.transport.abort)
                return
            # Timers with the same delay fire in the order in which they were set.
            loop.call_later(self._delay, _pass_on, sink, data)
            if not data:
                return


def _pass_on(sink: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(OSError, RuntimeError):
        if data:
            sink.write(data)
        else:
            sink.write_eof()
