"""How Django's admin writes times in every language: as the other pages, in UTC."""

DATETIME_FORMAT = r"Y-m-d H:i \U\T\C"
