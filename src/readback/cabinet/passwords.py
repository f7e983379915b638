"""Password validators that Django lacks, or whose messages we change."""

import re
from typing import Any

from django.contrib.auth.password_validation import UserAttributeSimilarityValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from readback import keys
from readback.contract import MODEL

_WORDS = {"readback", *re.findall("[a-z]+", f"{MODEL} {keys.PREFIX}")} - {"sk"}
_PRODUCT_WORD = re.compile("|".join(sorted(_WORDS, key=len, reverse=True)))
# The minimum length of a password without the words of this site.
_MIN_OTHER_CHARACTERS = 8


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

    def validate(self, password: str, user: Any = None) -> None:
        try:
            super().validate(password, user)
        except ValidationError:
            raise ValidationError(
                _("This password is too similar to your e-mail address."),
                code="password_too_similar",
            ) from None
