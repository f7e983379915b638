"""The way to the address: proxy, DNS, TCP and TLS, one module per layer."""
