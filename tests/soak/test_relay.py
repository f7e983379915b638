"""The long path: every byte and every end arrives late, and in order."""

import asyncio
import time

from soak.relay import Relay

DELAY = 0.1


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


def test_bytes_and_the_end_take_the_delay_in_each_direction():
    async def run() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        relay = Relay(server.sockets[0].getsockname()[1], DELAY)
        await relay.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        sent = time.monotonic()
        parts = [b"%d " % number for number in range(1000)]
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0)
        received = await reader.readexactly(len(b"".join(parts)))
        assert received == b"".join(parts)
        assert time.monotonic() - sent >= 2 * DELAY

        own_port = writer.get_extra_info("sockname")[1]
        assert relay.upstream_port(own_port) > 0
        ended = time.monotonic()
        writer.write_eof()
        assert await reader.read() == b""
        assert time.monotonic() - ended >= 2 * DELAY
        writer.close()
        await relay.stop()
        server.close()
        await server.wait_closed()

    asyncio.run(run())
