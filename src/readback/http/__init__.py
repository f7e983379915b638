"""HTTP/1.1 over asyncio. Knows nothing of what is served: it asks a handler."""
