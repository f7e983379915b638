"""Diagnoses of the network: DNS and TCP."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import ok, rows

entered, machine, network, service = rows(
    FailureFamily.NETWORK,
    Culprit.INPUT,
    Culprit.MACHINE,
    Culprit.NETWORK,
    Culprit.SERVICE,
)

NETWORK = (
    ok("dns.ok", "{host} resolves to {addresses}."),
    ok("dns.literal", "{host} is an IP address, so no DNS lookup is needed."),
    ok(
        "dns.fake_ip",
        "{host} resolves to {addresses}, which a VPN or proxy program has made up to "
        "redirect the connection.",
    ),
    ok(
        "dns.private",
        "{host} resolves to {addresses}, which exists only in a private network.",
    ),
    machine.warn(
        "dns.this_machine",
        "{host} resolves to {addresses}, which is this machine itself.",
        "Look for {host} in the hosts file. If it is not there, the DNS server blocks "
        "the name: ask your network administrator to allow it.",
    ),
    network.warn(
        "dns.answers_everything",
        "The DNS server gives {addresses} for every name, even for one that does not "
        "exist.",
        "Open a web page in a browser: the network may ask you to log in. Otherwise "
        "choose another DNS server.",
    ),
    entered.fail(
        "dns.unknown",
        "The host name {host} does not exist.",
        "Compare it letter by letter with the address you were given. If other people "
        "can use it, this machine needs another DNS server or a VPN.",
    ),
    network.fail(
        "dns.unknown_private",
        "The host name {host} does not exist on this network.",
        "Names {kind} exist only inside a private network. Connect to its VPN, or run "
        "this inside the container or cluster that knows the name.",
    ),
    network.fail(
        "dns.unknown_mdns",
        "No machine on this network calls itself {host}.",
        "Names that end in .local are found by multicast (mDNS): only in the same "
        "local network, rarely over a VPN, and not inside a container. Use the IP "
        "address.",
    ),
    machine.fail(
        "dns.failed",
        "The DNS lookup of {host} failed: {reason}.",
        "Check that this machine is online, then check its DNS settings and any VPN.",
    ),
    network.fail(
        "dns.silent",
        "The DNS server did not respond within {timeout} s.",
        "Check the DNS settings of this machine and any VPN.",
    ),
    ok("tcp.ok", "Connected to {addresses}."),
    network.warn(
        "tcp.v6_only",
        "The service is reachable only over IPv6.",
        "Programs, containers and networks without IPv6 cannot connect to it.",
    ),
    network.warn(
        "tcp.v6_broken",
        "IPv6 does not work from here, but IPv4 does: {unreachable}.",
        "Programs that try IPv6 first and then wait seem to hang. Try another address "
        "that has IPv6: if that fails, too, repair or turn off IPv6 on this machine or "
        "network; if it works, tell the operator.",
    ),
    service.warn(
        "tcp.partly",
        "Some addresses of {host} are unreachable: {unreachable}.",
        "Clients that try them lose time or fail now and then. Tell the operator.",
    ),
    service.fail(
        "tcp.refused",
        "{host} refused the connection: nothing is listening on port {port}.",
        "Compare the port with the address you were given, and check that the service "
        "is running.",
    ),
    entered.fail(
        "tcp.in_docker",
        "Nothing is listening on port {port} of this Docker container.",
        "Inside a container, {host} is the container itself. For a service on the "
        "host, use host.docker.internal (on Linux, start the container with "
        "--add-host=host.docker.internal:host-gateway or with --network host). For "
        "another container, use its name.",
    ),
    entered.fail(
        "tcp.in_podman",
        "Nothing is listening on port {port} of this Podman container.",
        "Inside a container, {host} is the container itself. For a service on the "
        "host, use host.containers.internal, or start the container with "
        "--network host. For another container, use its name.",
    ),
    entered.fail(
        "tcp.in_kubernetes",
        "Nothing is listening on port {port} of this pod.",
        "Inside a pod, {host} is the pod itself. Use the name of the Service, such as "
        "name.namespace.svc.",
    ),
    entered.fail(
        "tcp.in_container",
        "Nothing is listening on port {port} of this container.",
        "Inside a container, {host} is the container itself. Use the address of the "
        "host, or the name of the other container.",
    ),
    network.fail(
        "tcp.blocked_name",
        "{host} resolves to {addresses}, which is this machine, not the service.",
        "Look for {host} in the hosts file. If it is not there, the DNS server blocks "
        "the name: ask your network administrator to allow it.",
    ),
    machine.fail(
        "tcp.fake_ip",
        "{host} resolves to {addresses}, an address that a VPN or proxy program has "
        "made up, but the program does not take the connection: {reason}.",
        "Restart the program (such as Clash, Surge or sing-box), or quit it and clear "
        "the DNS cache.",
    ),
    network.fail(
        "tcp.private",
        "{addresses} is in a private network that cannot be reached from here: "
        "{reason}.",
        "Connect to the network or the VPN that {host} belongs to, then try again.",
    ),
    network.fail(
        "tcp.timeout",
        "No response from {host} on port {port} within {timeout} s: a firewall drops "
        "the packets, or the machine is down.",
        "Ask your network administrator to allow connections to {host}:{port}, or set "
        "the proxy that you have to use.",
    ),
    machine.fail(
        "tcp.forbidden",
        "This machine does not let this program connect to {host}: {reason}.",
        "A firewall, a sandbox or a security policy on this machine forbids it. Allow "
        "connections to {host}:{port} there.",
    ),
    network.fail(
        "tcp.rejected",
        "A router or firewall rejected the connection to {host}: {reason}.",
        "Ask your network administrator to allow connections to {host}:{port}. In your "
        "own network, check that the machine is switched on.",
    ),
    machine.fail(
        "tcp.no_route",
        "This machine has no route to {host}: {reason}.",
        "Check that this machine is online, then check its routes and any VPN.",
    ),
    network.fail(
        "tcp.no_ipv6",
        "{host} has only IPv6 addresses, and this machine has no IPv6.",
        "Use a network with IPv6, or ask the operator for an IPv4 address.",
    ),
    machine.fail(
        "tcp.no_free_port",
        "This machine has no free port for another connection to {host}.",
        "A program opens connections faster than they expire. Make it reuse them, or "
        "wait a minute.",
    ),
    machine.fail(
        "tcp.too_many_files",
        "This program may not open another connection: too many open files.",
        "Raise the limit (ulimit -n), or close programs that keep many files open.",
    ),
    network.fail(
        "tcp.unreachable",
        "{host} cannot be reached: {reason}.",
        "Check the network of this machine: routes, VPN, IPv6.",
    ),
)
