"""Password validators that Django lacks, or whose messages we change."""

import re
from threading import Lock
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import UserAttributeSimilarityValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from zxcvbn import matching, zxcvbn

from readback import keys
from readback.contract import MODEL

_WORDS = {"readback", *re.findall("[a-z]+", f"{MODEL} {keys.PREFIX}")} - {"sk"}
_PRODUCT_WORD = re.compile("|".join(sorted(_WORDS, key=len, reverse=True)))
# The minimum length of a password without the words of this site.
_MIN_OTHER_CHARACTERS = 8

# A password must withstand this many guesses. The limit on failed logins allows 720 a
# day for one account, so the best-known list of guesses would take centuries.
_MIN_GUESSES = 10**8
# How much of a password is estimated: the time grows with the square of its length.
_ESTIMATED_CHARACTERS = 64
# It also grows with the number of ways to read symbols as letters: with all of zxcvbn's
# there are 736 ways to read some passwords, which took 4 s, and with these 12.
matching.L33T_TABLE |= {
    "c": ["("],
    "g": ["9"],
    "i": ["1", "!"],
    "l": ["1"],
    "t": ["7"],
}
# zxcvbn keeps the words of one password at a time, for all threads.
_estimating = Lock()
# The same keys on two keyboards: many passwords are one language typed as another.
_CYRILLIC = "йцукенгшщзхъфывапролджэячсмитьбю"
_LATIN = "qwertyuiop[]asdfghjkl;'zxcvbnm,."
_SAME_KEYS = str.maketrans(_CYRILLIC, _LATIN)
# What makes a password easy to guess, by the pattern that was found in it.
_PATTERNS = {
    "dictionary": gettext_lazy("it consists of words that many people use."),
    "digits": gettext_lazy("it consists of digits that many people use."),
    "spatial": gettext_lazy("its keys lie side by side on the keyboard."),
    "repeat": gettext_lazy("it repeats the same characters."),
    "sequence": gettext_lazy("it counts up or down, such as abcd or 4321."),
    "date": gettext_lazy("it contains a date."),
    "regex": gettext_lazy("it contains a year."),
}


class StrengthValidator:
    """Refuse passwords that are among the first that anyone would try."""

    def validate(self, password: str, user: Any = None) -> None:
        if not password:
            return  # It is too short; another validator says so.
        start = password[:_ESTIMATED_CHARACTERS]
        names = re.findall(
            r"\w+", f"{getattr(user, 'email', '')} {settings.BRAND.name}".lower()
        )
        for typed in dict.fromkeys((start, start.lower().translate(_SAME_KEYS))):
            with _estimating:
                estimate = zxcvbn(typed, user_inputs=[*names, *_WORDS])
            if estimate["guesses"] < _MIN_GUESSES:
                raise ValidationError(_reason(estimate["sequence"]), "password_weak")

    def get_help_text(self) -> str:
        return _("Your password must not be easy to guess.")


def _reason(sequence: list[dict[str, Any]]) -> str:
    """Say which pattern makes up most of the password, and what would be better."""
    longest = max(sequence, key=lambda match: len(match["token"]))
    sentences = [
        _("This password is too easy to guess."),
        _("Several words that do not belong together are better."),
    ]
    # The list of common passwords begins with 123456.
    is_number = longest["pattern"] == "dictionary" and longest["token"].isdigit()
    if reason := _PATTERNS.get("digits" if is_number else longest["pattern"]):
        sentences[0] = _("This password is too easy to guess: %s") % reason
    return " ".join(sentences)


class ProductWordValidator:
    """Refuse passwords that are easy to guess from the words on this site."""

    def validate(self, password: str, user: object = None) -> None:
        rest = _PRODUCT_WORD.sub("", password.lower())
        if len(rest) == len(password) or len(rest) >= _MIN_OTHER_CHARACTERS:
            return
        raise ValidationError(
            _("This password is too easy to guess: it is mostly words from this site."),
            code="password_product_word",
        )

    def get_help_text(self) -> str:
        return _("Your password must not consist of words from this site.")


class EmailSimilarityValidator(UserAttributeSimilarityValidator):
    """Refuse passwords similar to the address; Django's message names a column."""

    def __init__(self) -> None:
        super().__init__(user_attributes=["email"])

    def get_error_message(self) -> str:
        return _("This password is too similar to your e-mail address.")
