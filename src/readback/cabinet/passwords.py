"""The password rules that Django does not bring, or not in our words."""

import re
from typing import Any

from django.contrib.auth.password_validation import UserAttributeSimilarityValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from readback import keys
from readback.contract import MODEL

_WORDS = {"readback", *re.findall("[a-z]+", f"{MODEL} {keys.PREFIX}")} - {"sk"}
_PRODUCT_WORD = re.compile("|".join(sorted(_WORDS, key=len, reverse=True)))
# What has to be left when the words are taken out.
_OWN_CHARACTERS = 8


class ProductWordValidator:
    """Refuse passwords that whoever reads this site would guess first."""

    def validate(self, password: str, user: object = None) -> None:
        words_gone = _PRODUCT_WORD.sub("", password.lower())
        if len(words_gone) == len(password) or len(words_gone) >= _OWN_CHARACTERS:
            return
        raise ValidationError(
            _("This password is mostly a word of this site, which is easy to guess."),
            code="password_product_word",
        )

    def get_help_text(self) -> str:
        return _("Your password is not made of words of this site.")


class OwnAddressValidator(UserAttributeSimilarityValidator):
    """Refuse the address of the account; Django would call it by a column's name."""

    def __init__(self) -> None:
        super().__init__(user_attributes=["email"])

    def validate(self, password: str, user: Any = None) -> None:
        try:
            super().validate(password, user)
        except ValidationError:
            raise ValidationError(
                _("This password is too much like your e-mail address."),
                code="password_too_similar",
            ) from None
