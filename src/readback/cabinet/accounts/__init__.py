"""Accounts: sign up, confirm an address, log in, change and delete what belongs to one.

Most pages are allauth's, with our forms, limits and e-mails. How people log in with
more than a password is in `second_factor.py` and `single_sign_on.py`.
"""
