"""The steps that connect: proxy, DNS, TCP and TLS."""
