"""HTTP/1.1 byte by byte: what clients send, and how the server must answer."""
