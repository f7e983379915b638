"""The address and the key as the person entered them, before anything is sent."""

URL_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLES = ("READBACK_API_KEY", "OPENAI_API_KEY")
