"""Checks of `readback doctor`: the addresses that users see, listeners, provider."""

from errno import EACCES, EADDRINUSE, EADDRNOTAVAIL

from readback.cli import listeners
from readback.cli.doctor.report import CheckResult, CheckResults, fail, ok, warn
from readback.cli.exit_codes import CannotStart
from readback.config import Config
from readback.setting_values import Bind


def addresses(config: Config) -> CheckResults:
    """Warn if people on other machines would be shown an address of this machine."""
    rows: tuple[tuple[str, str, tuple[Bind, ...]], ...] = (
        ("READBACK_PUBLIC_BASE_URL", config.public_base_url, config.api_bind),
        ("READBACK_CABINET_URL", config.cabinet_url, (config.cabinet_bind,)),
    )
    for setting, url, used in rows:
        if not url and not all(bind.is_loopback for bind in used):
            yield warn(
                "addresses",
                f"{setting} is empty, so users see an address of this machine",
                f"Set {setting} to the address that clients use.",
            )
    yield ok("address of the API", config.base_url)
    yield ok("address of the cabinet", config.effective_cabinet_url)


def provider(config: Config) -> CheckResults:
    if not config.oidc_issuer:
        return
    from readback.cabinet.account_rules import CALLBACK_PATH
    from readback.cabinet.single_sign_on import provider_documents

    try:
        provider_documents.keys(config.oidc_issuer)
    except provider_documents.ProviderError as error:
        yield fail(
            "single sign-on",
            f"the provider cannot be used: {error}",
            "Check READBACK_OIDC_ISSUER, and that this machine reaches the provider.",
        )
        return
    callback = f"{config.effective_cabinet_url}/{CALLBACK_PATH}"
    yield ok("single sign-on", f"the provider answers; register {callback} there")


def binds(config: Config) -> CheckResults:
    of_api = listeners.binds_of_api(config)
    try:
        listeners.check_distinct(of_api)
        listeners.check_distinct(
            [*of_api, ("READBACK_CABINET_BIND", config.cabinet_bind)]
        )
    except CannotStart as error:
        found = error.message
        if "READBACK_CABINET_BIND" in found:
            action = "Change one of them. Ignore this if only one plane runs here."
            yield warn("addresses to listen on", found, action)
        else:
            yield fail("addresses to listen on", found, "Change one of them.")
    for bind in config.api_bind:
        yield _bind("READBACK_API_BIND", bind)
    yield _bind("READBACK_CABINET_BIND", config.cabinet_bind)
    yield _bind("READBACK_OPS_BIND", config.ops_bind)


def _bind(setting: str, bind: Bind) -> CheckResult:
    try:
        listeners.check_can_listen(bind)
    except OSError as error:
        found = f"{bind}: {listeners.reason(error)}"
        if error.errno == EADDRINUSE:
            action = f"Ignore this if Readback is running; otherwise change {setting}."
            return warn(setting, found, action)
        if error.errno == EACCES and bind.port:
            action = f"Ignore this if systemd opens it; otherwise change {setting}."
            return warn(setting, found, action)
        if error.errno == EADDRNOTAVAIL and setting == "READBACK_OPS_BIND":
            # A cabinet asks there for the overview, and does not listen.
            action = "Ignore this if only the cabinet runs here, and the API there."
            return warn(setting, found, action)
        return fail(setting, found, f"Set {setting} to another address.")
    return ok(setting, f"{bind} is free")
