"""A display for tests that check only the report."""


class SilentDisplay:
    def show(self, step: str, done: int) -> None:
        pass

    def clear(self) -> None:
        pass
