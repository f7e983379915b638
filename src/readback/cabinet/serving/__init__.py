"""Serve requests: the worker, who asks, headers, error pages and the security log.

Nothing here knows what a key is for.
"""
