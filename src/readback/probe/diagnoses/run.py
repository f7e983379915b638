"""Diagnoses of the run itself, of a comparison, and of a path that is not steady."""

from readback.probe.diagnoses.templates import (
    entered,
    machine,
    network,
    ok,
    probe,
    proxy,
    service,
    skip,
)

_PARTED = "The two differ at “{step}”: {passes} passes it, {fails} does not."

RUN = {
    "compare.same": ok("Both work from this machine: {first} and {second}."),
    "compare.unfinished": skip("The comparison was interrupted."),
    "compare.same_failure": machine.warn("""
        Both fail at “{step}” for the same reason ({found}).
        → The cause is something that both share: this machine, its settings or its
        network. {next_step}"""),
    "compare.other_failure": entered.warn("""
        Both fail at “{step}”, but for different reasons.
        → These are two separate problems. For {fails}: {next_step}"""),
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
        Both addresses can be reached, but {fails} fails at “{step}”.
        → The other address has no such step, so the cause is at {fails} or in front of
        it. {next_step}"""),
    "skipped.failed": skip("Skipped because “{reason}” failed."),
    "skipped.budget": skip("Skipped because {limit} requests have been sent."),
    "skipped.rate_limited": skip("""
        Skipped because the requests of this run have used up a rate limit."""),
    "skipped.unsteady": skip("""
        Unknown: requests fail now and then, so a few of them prove nothing."""),
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

_TELL = (
    "Send the operator the lines below the finding: how often, when, and what the "
    "failures have in common."
)
_RETRY = "Until then, let your program retry a request that fails."
_USED_UP = (
    "The requests of this run have used up a rate limit: {answered} were answered "
    "within {seconds}, then the service responded with 429."
)

SOMETIMES = {
    "steady.ok": ok("All {total} requests were answered."),
    "again.asked": ok("{requests} more requests were sent, to every address."),
    "sometimes.status": service.fail(f"""
        {{bad}} of {{total}} requests got {{outcomes}}; the others were answered.
        → Your address and key are right. Some of the servers behind this address fail,
        or whatever balances them sends requests to one that is down. {_TELL}
        {_RETRY}"""),
    "sometimes.reset": service.fail(f"""
        {{bad}} of {{total}} requests ended with {{outcomes}}; the others were answered.
        → Your address and key are right. Some of the servers behind this address close
        connections, or a balancer or firewall in front of them does. {_TELL}
        {_RETRY}"""),
    "sometimes.silent": service.fail(f"""
        {{bad}} of {{total}} requests ended with {{outcomes}}; the others were answered.
        → Some of the servers behind this address hang, or packets are lost on the way.
        {_TELL} {_RETRY}"""),
    "sometimes.certificate": service.fail(f"""
        {{bad}} of {{total}} connections got {{outcomes}}; the others got one that is
        trusted.
        → The certificate store of this machine is right. Some of the servers behind
        this address have a different certificate from the rest, or an expired one.
        {_TELL}"""),
    "sometimes.key": service.fail(f"""
        {{bad}} of {{total}} requests with the key were refused with {{outcomes}}; the
        others were accepted.
        → The key is right, so do not replace it. Some of the servers behind this
        address do not know it: they have an older database or belong to another
        installation. {_TELL}"""),
    "sometimes.other_service": service.fail(f"""
        {{bad}} of {{total}} requests were answered by another service ({{outcomes}}).
        → Some of the servers behind this name are not the service. If the addresses
        differ below, one of them does not belong in the DNS record; otherwise, look at
        the balancer. {_TELL}"""),
    "sometimes.changed": proxy.fail("""
        {bad} of {total} texts were returned changed ({outcomes}); the others were not.
        ⇒ Some of the gateways or servers on the way change texts, and others do not.
        Look for the one that the failures below have in common."""),
    "sometimes.differs": service.fail(f"""
        All {{total}} requests failed, but not in the same way: {{outcomes}}.
        → Several servers seem to be behind this address, and none of them works. Your
        address may still be right. {_TELL}"""),
    "sometimes.loss": network.warn("""
        Packets are lost on the way: in {bad} of {total} requests, {packets} packets had
        to be sent again. The slowest answer took {slowest}, the fastest {fastest}.
        → Try a cable instead of Wi-Fi, and without the VPN. If that makes no
        difference, send your network's administrator these figures."""),
    "sometimes.slow": service.warn("""
        {bad} of {total} answers took much longer than the others: up to {slowest},
        while half of all took at most {median}.
        → Some of the servers behind this address seem to be busy, or wait for something
        else. Set a time-out longer than {slowest} in your program, and send the
        operator the lines below the finding."""),
    "sometimes.proxy": proxy.fail(f"""
        The proxy refused {{bad}} of {{total}} connections ({{outcomes}}); the others
        got through.
        → Your address is right. The proxy is busy, or some of its servers fail. Send
        its administrator the lines below the finding. {_RETRY}"""),
    "sometimes.rate_limited": service.warn(f"""
        {_USED_UP}
        → The key works. The steps that were left out can be tested in another run after
        {{wait}} s. A program that sends as many requests needs a higher limit."""),
    "sometimes.rate_limited_early": service.fail(f"""
        {_USED_UP}
        → It is not yet known whether the key works. Wait {{wait}} s and try again;
        other programs with the same key or network address use the same limit. If it
        always happens, ask the operator how many requests are allowed."""),
}
