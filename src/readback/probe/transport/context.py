"""The input of a run, the facts that its steps have found, and the type of a step.

A field without a default is set by the step named in its comment and is read only by
steps that need that step.
"""

from __future__ import annotations

import math
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Union

from readback.contract import CHAT_PATH, MODELS_PATH, PROBE_PATH, VERSION_PREFIX
from readback.probe.common.catalogue import say
from readback.probe.common.formatting import HIDDEN, Redactor, secrets_in
from readback.probe.common.responsible import Authority, Path, path_to
from readback.probe.common.results import Diagnosis, ProbeError, Service
from readback.probe.entered import KEY_VARIABLES, OPENAI_DEFAULT
from readback.probe.entered.base_url import BaseUrl, is_loopback
from readback.probe.entered.key import Secret
from readback.probe.transport.client import ProbeClient
from readback.probe.transport.connecting import Route
from readback.probe.transport.exchanges import ProbeResponse, RequestBudget

MODELS = MODELS_PATH.removeprefix(VERSION_PREFIX)
CHAT = CHAT_PATH.removeprefix(VERSION_PREFIX)
UNKNOWN = PROBE_PATH.removeprefix(VERSION_PREFIX)
"""A path that no API has; requests for it need no key."""


@dataclass
class ProbeContext:
    entered_url: str
    secret: Secret
    timeout: float = 10.0
    chat_model: str | None = None
    """The model to ask for a completion; without one, no request costs money."""
    url_source: str = ""
    """The source of the address if it was not entered: a variable or OPENAI_DEFAULT."""
    authorities: str = ""
    """The --cacert file, which replaces this machine's certificate stores."""
    certificate: str = ""
    """The --cert file: the client certificate with its private key."""
    budget: RequestBudget = field(default_factory=RequestBudget)
    deadline: float = math.inf
    """The time by which the run must end, on the monotonic clock."""
    key_destinations: set[str] = field(default_factory=set)
    """The scheme and host of every address that received the key, safe to show."""

    # The comment after each of these fields names the step that sets it.
    base_url: BaseUrl = field(init=False)  # address
    is_host_corrected: bool = False  # address
    key: Secret = field(init=False)  # key
    route: Route = field(init=False)  # proxies, then dns and tcp
    trusted: ssl.SSLContext | None = None  # tls, if the address uses it
    authority: Authority = Authority.NONE  # tls
    client: ProbeClient = field(init=False)  # http
    service: Service | None = None  # http
    models_without_key: ProbeResponse = field(init=False)  # http
    is_tried: bool = False  # http
    """Whether the key is sent once to a service that was not recognized."""
    headers: dict[str, str] = field(default_factory=dict)  # http
    """A header with a made-up key, if a gateway blocks requests without a key."""
    models: ProbeResponse = field(init=False)  # access
    is_rehearsal: bool = False  # access
    token_limit: str = "max_tokens"  # chat
    echoes: list[ProbeResponse] = field(default_factory=list)  # echo
    seen_ids: set[str] = field(default_factory=set)  # echo
    sent_texts: set[str] = field(default_factory=set)  # echo

    failures: dict[str, ProbeError] = field(default_factory=dict)
    """The first failure of each step, by step id; a repeat may still succeed."""
    redactor: Redactor = field(init=False)

    def __post_init__(self) -> None:
        proxies = (name for name in os.environ if name.lower().endswith("_proxy"))
        settings = (os.environ[name] for name in proxies)
        urls = map(secrets_in, (self.entered_url, *settings))
        masks = dict.fromkeys(chain.from_iterable(urls), HIDDEN)
        for variable in KEY_VARIABLES:
            masks.update(Secret(os.environ.get(variable, "")).masks)
        masks.pop("", None)
        self.redactor = Redactor({**masks, **self.secret.masks})

    @property
    def shown_url(self) -> str:
        """The parsed address; unreadable input is hidden, as it may contain secrets."""
        if "base_url" in vars(self):
            return str(self.base_url)
        is_default = self.url_source == OPENAI_DEFAULT
        return self.entered_url if is_default else say("unreadable")

    @property
    def shown_key(self) -> str:
        return self.key.mask if "key" in vars(self) else self.secret.mask

    @property
    def usable_key(self) -> Secret | None:
        """The entered key, if it can be sent."""
        return (self.key or None) if "key" in vars(self) else None

    @property
    def is_key_released(self) -> bool:
        """Whether --chat allows sending the key to a stranger, or it is no secret."""
        is_word = self.usable_key is not None and not self.usable_key.masks
        return self.chat_model is not None or is_word

    @property
    def path(self) -> Path:
        has_proxy = "route" in vars(self) and self.route.proxy is not None
        is_here = "base_url" in vars(self) and is_loopback(self.base_url.host)
        return path_to(self.authority, has_proxy=has_proxy, is_here=is_here)

    def new_client(
        self, route: Route | None = None, trusted: ssl.SSLContext | None = None
    ) -> ProbeClient:
        return ProbeClient(
            route or self.route,
            trusted or self.trusted,
            self.timeout,
            self.budget,
            self.key_destinations,
            self.headers,
        )

    def ask(
        self,
        path: str,
        body: bytes | None = None,
        client: ProbeClient | None = None,
        *,
        with_key: bool = True,
    ) -> ProbeResponse:
        whole = f"{self.base_url.path}{path}"
        key = self.key if with_key else None
        request = (client or self.client).request
        response = request(whole, key=key, body=body)
        # On 301 and 302, a client would repeat a POST as a GET.
        if response.has_slash and (body is None or response.status in (307, 308)):
            return request(f"{whole}/", key=key, body=body)
        return response

    def close(self) -> None:
        if "client" in vars(self):
            self.client.close()


Check = Callable[[ProbeContext], Union[Diagnosis, list[Diagnosis]]]


class Step(NamedTuple):
    id: str
    title: str
    run: Check
    needs: tuple[str, ...] = ()
    """The ids of the steps that must succeed before this one can run."""
    applies: Callable[[ProbeContext], bool] = lambda context: True
    """Whether the step is part of the run; called just before it would run."""
    repeats: int = 4
