"""The second factor: authenticator apps, passkeys and recovery codes.

An account adds and removes them here, and uses them to log in or to confirm a change.
"""
