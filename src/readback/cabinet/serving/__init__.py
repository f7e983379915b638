"""Serving requests: the worker, visitors, headers, error pages and the security log.

Nothing here knows what a key is for.
"""
