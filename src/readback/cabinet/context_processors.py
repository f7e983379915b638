"""Template context for every page: brand, addresses, mail, sign-up and login."""

from functools import partial

from django.conf import settings
from django.http import HttpRequest

from readback.cabinet import account_rules
from readback.cabinet.accounts import second_factor


def site(request: HttpRequest) -> dict[str, object]:
    is_only_way = account_rules.provider_is_only_way()
    return {
        # The section of the site, used to highlight the current entry in the header.
        "nav": request.path.split("/")[1],
        "api_address": settings.CONFIG.base_url,
        "brand": settings.BRAND,
        "site_name": settings.BRAND.name,
        # The cabinet's own address, for links that are used elsewhere.
        "cabinet_url": settings.CABINET_URL,
        # If e-mails are printed to the terminal, pages say so.
        "mail_is_printed": not settings.CONFIG.smtp_url,
        # Whether there is a sign-up form, and the only domains that it accepts.
        "sign_up_is_open": account_rules.form_is_open() and not is_only_way,
        "sign_up_domains": account_rules.domains(),
        # Whether passkeys work at this address. Templates call this function.
        "passkeys_work": partial(second_factor.passkeys_work, request),
        "contact": settings.CONFIG.contact,
        "contact_name": settings.CONFIG.contact.removeprefix("mailto:"),
        "provider": account_rules.provider_name(),
        "provider_is_only_way": is_only_way,
    }
