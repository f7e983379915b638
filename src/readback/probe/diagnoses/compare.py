"""Diagnoses of a comparison of two addresses."""

from __future__ import annotations

from readback.probe.common.results import Culprit
from readback.probe.diagnoses.templates import ok, skip, warn

_PARTED = "The ways part at “{step}”: {passes} passes it, {fails} does not."

COMPARE = (
    ok("compare.same", "Both work from this machine: {first} and {second}."),
    skip("compare.unfinished", "The comparison was interrupted."),
    warn(
        "compare.same_failure",
        Culprit.MACHINE,
        "Both fail at “{step}” for the same reason ({found}).",
        "The cause is something that both share: this machine, its settings or its "
        "network. {next_step}",
    ),
    warn(
        "compare.other_failure",
        Culprit.INPUT,
        "Both fail at “{step}”, but for different reasons.",
        "These are two problems. For {fails}: {next_step}",
    ),
    warn(
        "compare.parts_at",
        Culprit.NETWORK,
        _PARTED,
        "The service of {fails} is down, or something in between treats the two "
        "addresses differently, such as a firewall, a proxy or a filter. {next_step}",
    ),
    warn(
        "compare.parts_at_service",
        Culprit.INPUT,
        _PARTED,
        "The network treats both alike; what differs is the address, the key or the "
        "service. {next_step}",
    ),
    warn(
        "compare.parts_after",
        Culprit.SERVICE,
        "Both are reached; then {fails} fails at “{step}”.",
        "The other address has no such step, so the cause is at {fails} or before it. "
        "{next_step}",
    ),
)
