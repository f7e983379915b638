"""HTTP/1.1 byte by byte: what is sent on a connection, and what must be answered."""
