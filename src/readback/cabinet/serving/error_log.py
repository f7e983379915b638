"""Log filters that decide what Django's error messages show."""

import logging


class HidePath(logging.Filter):
    """Replaces the path of a request by the URL pattern.

    The path of a link from an e-mail is a secret, and the pattern is as useful for
    finding the error.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if request is not None and isinstance(record.args, tuple):
            match = getattr(request, "resolver_match", None)
            pattern = match.route if match else "an unknown page"
            record.args = tuple(
                pattern if arg == request.path else arg for arg in record.args
            )
        return True


class HideOutages(logging.Filter):
    """Drops requests that failed because the database cannot be used.

    `storage.py` says so once instead of once per request.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        # Imported here because Django configures the log before the models.
        from readback.cabinet.serving import storage

        return not (record.exc_info and storage.is_outage(record.exc_info[1]))
