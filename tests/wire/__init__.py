"""HTTP/1.1 by the byte: what goes in on a connection, and what must come out."""
