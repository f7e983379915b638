"""Which passwords are refused, and how the others are hashed."""

import re

from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from readback import keys
from readback.contract import MODEL

# The same keys in two keyboard layouts: some passwords are typed in the wrong one.
_SAME_KEYS = str.maketrans(
    "йцукенгшщзхъфывапролджэячсмитьбю", "qwertyuiop[]asdfghjkl;'zxcvbnm,."
)
_WORDS = f"readback {MODEL} {keys.PREFIX}"
_YEARS = {str(year) for year in range(1900, 2100)}
_REPEATED = re.compile(r"(.+?)\1+", re.DOTALL)
# Each character scores a point unless it repeats or continues the previous one, as in
# 4321. A common password inside the password, such as a row of keys, scores three
# points. A year, or a word from this site or the person's address, scores nothing.
_MIN_SCORE = 8
_WORD_SCORE = 3
# Only the beginning is judged, because the time grows with the square of the length.
_LONGEST = 64


class Argon2Hasher(Argon2PasswordHasher):
    """Argon2id with parameters that OWASP recommends; a login takes about 30 ms."""

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1


class StrengthValidator:
    """Refuse passwords that an attacker would try first."""

    def __init__(self) -> None:
        self._known = CommonPasswordValidator().passwords

    def validate(self, password: str, user: object = None) -> None:
        words = f"{getattr(user, 'email', '')} {settings.BRAND.name} {_WORDS}"
        own = {*re.findall(r"[^\W_]{3,}", words.lower()), *_YEARS}
        whole = password[:_LONGEST].lower()
        typed = (whole, _REPEATED.sub(r"\1", whole))
        both = (*typed, *(each.translate(_SAME_KEYS) for each in typed))
        scores = (self._score(each, own) for each in both)
        # Another validator reports a password that is too short.
        if len(password) >= settings.MIN_PASSWORD_LENGTH and min(scores) < _MIN_SCORE:
            raise ValidationError(self.get_help_text(), "password_weak")

    def get_help_text(self) -> str:
        return _(
            "This password is too easy to guess. Several words that do not belong "
            "together are better."
        )

    def _score(self, text: str, own: set[str]) -> int:
        score = 0
        before = ""
        while text:
            parts = (text[:end] for end in range(len(text), 2, -1))
            known = (p for p in parts if p in own or (len(p) > 3 and p in self._known))
            word = next(known, text[0])
            if len(word) > 1:
                score += 0 if word in own else _WORD_SCORE
            else:
                score += not before or abs(ord(word) - ord(before)) > 1
            text = text[len(word) :]
            before = word[-1]
        return score
