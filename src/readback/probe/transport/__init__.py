"""How the steps reach the service: sockets, proxies, TLS, the HTTP client, the context.

The context holds what a run has found out so far and sends the requests.
"""
