"""A log filter that removes request paths from Django's error messages.

The path of a link from an e-mail is a secret. The URL pattern replaces it, which is as
useful for finding the error.
"""

import logging


class HidePath(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if request is not None and isinstance(record.args, tuple):
            match = getattr(request, "resolver_match", None)
            pattern = match.route if match else "an unknown page"
            record.args = tuple(
                pattern if arg == request.path else arg for arg in record.args
            )
        return True
