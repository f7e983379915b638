"""Single sign-on: log in with an OpenID Connect provider of the operator's choice.

What the provider says is checked here, and decides which account is a person's.

`openid_connect.py` and `provider_documents.py` are imported at the first login, because
their libraries take 14 MB of memory.
"""
