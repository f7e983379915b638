"""The address and the key as entered, before anything is sent."""

URL_VARIABLE = "OPENAI_BASE_URL"
API_KEY_VARIABLE = "OPENAI_API_KEY"
KEY_VARIABLES = ("READBACK_API_KEY", API_KEY_VARIABLE)
# The address that the openai package uses if nothing else is set.
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_DEFAULT = "openai"
