"""HTTP/1.1 over asyncio. It knows nothing about the product: a handler decides."""
