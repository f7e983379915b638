"""The password rule that Django does not bring: no password made of our own words."""

import re

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
