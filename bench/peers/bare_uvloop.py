"""Python's limit: a protocol that sends a constant for any data, without parsing it.

Run as `bare_uvloop.py PORT FILE`; the file contains the body of the response.
"""

import asyncio
import sys
from pathlib import Path

import uvloop

HEAD = (
    "HTTP/1.1 200 OK\r\n"
    "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    "Content-Type: application/json\r\n"
    "Cache-Control: no-store\r\n"
    "Content-Length: {}\r\n\r\n"
)


async def serve(port: int, answer: bytes) -> None:
    class Constant(asyncio.Protocol):
        def connection_made(self, transport):
            self.write = transport.write

        def data_received(self, data):
            self.write(answer)

    loop = asyncio.get_running_loop()
    server = await loop.create_server(Constant, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    body = Path(sys.argv[2]).read_bytes()
    uvloop.run(serve(int(sys.argv[1]), HEAD.format(len(body)).encode() + body))
