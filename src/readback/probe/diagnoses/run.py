"""Diagnoses of the run itself, and of a comparison of two addresses."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import ok, rows, skip

entered, machine, network, service, probe = rows(
    FailureFamily.PROBE,
    Culprit.INPUT,
    Culprit.MACHINE,
    Culprit.NETWORK,
    Culprit.SERVICE,
    Culprit.PROBE,
)

RUN = (
    skip("skipped.failed", "Skipped because “{reason}” failed."),
    skip("skipped.budget", "Skipped because {limit} requests have been sent."),
    skip("skipped.ended", "Skipped because the run ended at “{reason}”."),
    skip("probe.interrupted", "The run was interrupted during this step."),
    service.warn(
        "probe.time_limit",
        "The run was ended during this step, because it had taken {limit} s.",
        "Responses take too long: look at the times of the other steps. With a longer "
        "--timeout, the whole run may also take longer.",
    ),
    probe.fail(
        "probe.unexpected",
        "This step of the probe ended with an error of its own: {reason}.",
        "The other steps are not affected. Please report it with the output of "
        "--json; it contains no key and no text.",
    ),
)
_PARTED = "The ways part at “{step}”: {passes} passes it, {fails} does not."

COMPARE = (
    ok("compare.same", "Both work from this machine: {first} and {second}."),
    skip("compare.unfinished", "The comparison was interrupted."),
    machine.warn(
        "compare.same_failure",
        "Both fail at “{step}” for the same reason ({found}).",
        "The cause is something that both share: this machine, its settings or its "
        "network. {next_step}",
    ),
    entered.warn(
        "compare.other_failure",
        "Both fail at “{step}”, but for different reasons.",
        "These are two problems. For {fails}: {next_step}",
    ),
    network.warn(
        "compare.parts_at",
        _PARTED,
        "The service of {fails} is down, or something in between treats the two "
        "addresses differently, such as a firewall, a proxy or a filter. {next_step}",
    ),
    entered.warn(
        "compare.parts_at_service",
        _PARTED,
        "The network treats both alike; what differs is the address, the key or the "
        "service. {next_step}",
    ),
    service.warn(
        "compare.parts_after",
        "Both are reached; then {fails} fails at “{step}”.",
        "The other address has no such step, so the cause is at {fails} or before it. "
        "{next_step}",
    ),
)
