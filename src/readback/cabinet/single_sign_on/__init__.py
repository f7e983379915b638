"""Single sign-on: log in with an OpenID Connect provider of the operator's choice.

What the provider says is checked here, and decides which account is a person's.
"""
