"""What is left out of the log of faults: the paths of requests, which can be secrets.

A link from a mail is a path. Django writes the path of a request that failed; here
its pattern takes that place, which tells as much to whoever looks for the fault.
"""

import logging


class WithoutPath(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if request is not None and isinstance(record.args, tuple):
            match = getattr(request, "resolver_match", None)
            where = match.route if match else "an unknown page"
            known = (where if part == request.path else part for part in record.args)
            record.args = tuple(known)
        return True
