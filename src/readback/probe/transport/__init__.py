"""How the steps reach the service: sockets, proxies, TLS, the HTTP client, the context.

The context has what a run knows so far, and sends its requests.
"""
