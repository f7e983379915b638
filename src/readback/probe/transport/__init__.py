"""How the steps reach the service: sockets, proxies, TLS, the HTTP client, the context.

The context is what a run knows so far, and what its steps send requests with.
"""
