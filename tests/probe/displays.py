"""A display for tests that check only the report."""

from contextlib import nullcontext


class SilentDisplay:
    def running(self, title: str):
        return nullcontext()

    def show(self, result) -> None:
        pass

    def finish(self, report) -> None:
        pass
