"""The address and the key as entered, before anything is sent."""

URL_VARIABLE = "OPENAI_BASE_URL"
API_KEY_VARIABLE = "OPENAI_API_KEY"
KEY_VARIABLES = ("READBACK_API_KEY", API_KEY_VARIABLE)
# The address that the openai package uses if nothing else is set.
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_DEFAULT = "openai"
# Well-known APIs, and how their keys begin, if they have a prefix of their own.
PROVIDERS = {
    "api.openai.com": "sk-proj-",
    "api.anthropic.com": "sk-ant-",
    "openrouter.ai": "sk-or-",
    "api.groq.com": "gsk_",
    "api.x.ai": "xai-",
    "api.perplexity.ai": "pplx-",
    "integrate.api.nvidia.com": "nvapi-",
    "router.huggingface.co": "hf_",
    "generativelanguage.googleapis.com": "AIza",
    "api.deepseek.com": "",
    "api.mistral.ai": "",
}
