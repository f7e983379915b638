"""Run the cabinet with another value of READBACK_SIGNUP."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from readback import setting_values


@contextmanager
def sign_up_for(value: str) -> Iterator[None]:
    from django.conf import settings
    from django.test import override_settings

    config = replace(settings.CONFIG, signup=setting_values.sign_up(value))
    with override_settings(CONFIG=config):
        yield
