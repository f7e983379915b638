"""Serving requests: the handler, visitors, headers, error pages and the security log.

Nothing here reads or changes keys.
"""
