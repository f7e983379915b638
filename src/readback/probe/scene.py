"""What one walk is given, and what its steps have found out so far.

A field without a value is written by the step that its comment names, and read only
by steps that need that one.
"""

import ssl
from dataclasses import dataclass, field

from readback.contract import CHAT_PATH, MODELS_PATH, VERSION_PREFIX
from readback.probe.address import Address
from readback.probe.calls import Answer, Budget, Caller
from readback.probe.proxies import Route
from readback.probe.secret import Secret

MODELS = MODELS_PATH.removeprefix(VERSION_PREFIX)
CHAT = CHAT_PATH.removeprefix(VERSION_PREFIX)


@dataclass
class Scene:
    given: str
    """The address as it was typed."""
    secret: Secret
    timeout: float = 10.0
    cabinet_url: str | None = None
    budget: Budget = field(default_factory=Budget)

    address: Address = field(init=False)  # address
    key: Secret = field(init=False)  # key
    route: Route = field(init=False)  # proxies
    addresses: list[str] = field(init=False)  # dns
    trusted: ssl.SSLContext = field(init=False)  # tls
    caller: Caller = field(init=False)  # http
    help_link: str = ""  # http
    models: Answer = field(init=False)  # access
    seen_ids: set[str] = field(default_factory=set)  # echo

    @property
    def shown_address(self) -> str:
        """The address as it was read; what cannot be read may hold anything."""
        return str(self.address) if "address" in vars(self) else "unreadable"

    @property
    def shown_key(self) -> str:
        return self.key.mask if "key" in vars(self) else self.secret.mask

    def new_caller(self, route: Route | None = None) -> Caller:
        """Make a client with no connection yet."""
        proxy_url = (route or self.route).proxy_url
        return Caller(self.trusted, proxy_url, self.timeout, self.budget)

    def ask(self, path: str, *, with_key: bool = True) -> Answer:
        key = self.key if with_key else None
        return self.caller.ask("GET", f"{self.address}{path}", key=key)

    def say(self, body: bytes, caller: Caller | None = None) -> Answer:
        url = f"{self.address}{CHAT}"
        return (caller or self.caller).ask("POST", url, key=self.key, body=body)

    def close(self) -> None:
        if "caller" in vars(self):
            self.caller.close()
