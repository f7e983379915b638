"""The same as in English; Django looks for a module of each language."""

from readback.cabinet.locale.en.formats import DATETIME_FORMAT as DATETIME_FORMAT
