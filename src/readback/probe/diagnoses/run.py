"""Diagnoses of the run itself, and of a comparison of two addresses."""

from __future__ import annotations

from readback.probe.diagnoses.templates import (
    entered,
    machine,
    network,
    ok,
    probe,
    service,
    skip,
)

_PARTED = "The ways part at “{step}”: {passes} passes it, {fails} does not."

RUN = {
    "compare.same": ok("Both work from this machine: {first} and {second}."),
    "compare.unfinished": skip("The comparison was interrupted."),
    "compare.same_failure": machine.warn("""
        Both fail at “{step}” for the same reason ({found}).
        → The cause is something that both share: this machine, its settings or its
        network. {next_step}"""),
    "compare.other_failure": entered.warn("""
        Both fail at “{step}”, but for different reasons.
        → These are two problems. For {fails}: {next_step}"""),
    "compare.parts_at": network.warn(f"""
        {_PARTED}
        → The service of {{fails}} is down, or something in between treats the two
        addresses differently, such as a firewall, a proxy or a filter.
        {{next_step}}"""),
    "compare.parts_at_service": entered.warn(f"""
        {_PARTED}
        → The network treats both alike; what differs is the address, the key or the
        service. {{next_step}}"""),
    "compare.parts_after": service.warn("""
        Both are reached; then {fails} fails at “{step}”.
        → The other address has no such step, so the cause is at {fails} or before it.
        {next_step}"""),
    "skipped.failed": skip("Skipped because “{reason}” failed."),
    "skipped.budget": skip("Skipped because {limit} requests have been sent."),
    "skipped.rate_limited": skip("""
        Skipped because the requests of this run have used up a rate limit."""),
    "skipped.unsteady": skip("""
        Not known: requests fail now and then, so this cannot be concluded from a few of
        them."""),
    "skipped.ended": skip("Skipped because the run ended at “{reason}”."),
    "probe.interrupted": skip("The run was interrupted during this step."),
    "probe.time_limit": service.warn("""
        The run was ended during this step, because it had taken {limit} s. Not tested:
        {left_out}.
        → Run the probe again with a longer --timeout, such as 30. If that does not
        help, tell the operator: the times of the other steps show what is slow."""),
    "probe.unexpected": probe.fail("""
        This step of the probe ended with an error of its own: {reason}.
        → The other steps are not affected. Please report it with the output of --json;
        it contains no key and no text."""),
}
