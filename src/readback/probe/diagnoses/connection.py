"""Diagnoses of the connection: proxies, DNS and TCP."""

from readback.probe.diagnoses.templates import (
    entered,
    machine,
    network,
    ok,
    proxy,
    service,
)

_HOSTS = (
    "The file is /etc/hosts, or C:\\Windows\\System32\\drivers\\etc\\hosts on Windows; "
    "an administrator can change it."
)
_HOSTS_OR_DNS = (
    "Look for {host} in the hosts file. If it is not there, the DNS server blocks the "
    f"name: ask your network's administrator to allow it. {_HOSTS}"
)
_OFFLINE = (
    "Open a web page in a browser on this machine. If that fails, too, connect it to "
    "the Internet. If it works, turn the VPN off or on, and try again."
)

PROXIES = {
    "proxies.none": ok("No proxy is set in the environment."),
    "proxies.system": ok("""
        No proxy is set in the environment. The desktop's settings name {setting}, which
        Python programs do not use."""),
    "proxies.bypassed": ok("{variable} is set, but NO_PROXY excludes this host."),
    "proxies.used": ok("Requests go through the proxy {proxy}, set in {variable}."),
    "proxies.socks": ok("""
        Requests go through the SOCKS proxy {proxy} ({scheme}), set in {variable}."""),
    "proxies.case_differs": machine.warn("""
        {lower} and {upper} have different values.
        → This program uses {lower}; others may use {upper}. Set both to the same value,
        or unset one of them."""),
    "proxies.no_proxy_ignored": machine.warn("""
        NO_PROXY contains {entry}, but not every program reads this as excluding {host}.
        → List plain host names, separated by commas, without a scheme, wildcard,
        default port or network. For example: NO_PROXY={host}."""),
    "proxies.password_ambiguous": machine.warn("""
        The user name or password in {variable} contains an @ or % that is not encoded,
        and programs read it differently.
        → Write %40 instead of @, and %25 instead of %."""),
    "proxies.password": machine.fail("""
        The user name or password in {variable} contains a character that ends the
        address too early.
        → Encode special characters in it: %23 for #, %2F for /, %3F for ?, %5C for \\,
        %40 for @, %25 for %."""),
    "proxies.quoted": machine.fail("""
        {variable} contains quotation marks or spaces.
        → Remove them from the value. docker run --env-file keeps quotation marks that a
        shell would remove."""),
    "proxies.no_host": machine.fail("""
        {variable} does not contain a valid host name.
        → Set it to the proxy's address, such as http://proxy.example:3128, or unset
        it."""),
    "proxies.bad_port": machine.fail("""
        {variable} does not contain a valid port.
        → Set it to the proxy's address, such as http://proxy.example:3128, with a port
        from 1 to 65535. If the address contains a password, encode special characters
        in it."""),
    "proxies.unusable": machine.fail("""
        {variable} is set to {proxy}, which is not the address of an HTTP or SOCKS
        proxy.
        → Begin the address with http://, https://, socks5h://, socks5://, socks4a:// or
        socks4://. Or unset {variable}, or add {host} to NO_PROXY."""),
    "proxies.pac": machine.fail("""
        {variable} is set to the address of a PAC file, not of a proxy. Browsers can run
        such a file; most other programs cannot.
        → Open the file, look for the word PROXY, and set {variable} to the host and
        port after it, as in http://proxy.example:3128."""),
    "proxies.system_needed": machine.fail("""
        {host} cannot be reached directly ({reason}), and Python programs do not use the
        proxy in the desktop's settings: {setting}.
        → Set HTTPS_PROXY, or HTTP_PROXY for an http:// address, to the address of the
        proxy. In a PAC file, that address follows the word PROXY."""),
    "proxy.unknown_host": machine.fail("""
        The proxy's host name {host}, set in {variable}, does not exist.
        → Correct or unset {variable}. The name of a company's proxy often exists only
        inside the company's network or VPN."""),
    "proxy.unreachable": machine.fail("""
        The proxy {proxy} cannot be reached: {reason}.
        → Correct or unset {variable}, or add the service's host to NO_PROXY."""),
    "proxy.in_container": machine.fail("""
        {variable} is set to {proxy}, but inside a container that is the container
        itself, and nothing is listening there.
        → For a proxy on the host, use host.docker.internal (Docker) or
        host.containers.internal (Podman) instead, or --network host."""),
    "proxy.silent": proxy.fail("""
        The proxy {proxy} accepted the connection but did not respond.
        → Check the scheme, host and port in {variable}: an HTTP proxy does not answer
        SOCKS requests, and a SOCKS proxy does not answer HTTP requests. If they are
        right, the proxy hangs or cannot reach the service: ask its administrator."""),
    "proxy.closed": proxy.fail("""
        The proxy {proxy} closed the connection without a response.
        → Check the scheme and port in {variable}: a SOCKS proxy does this if it is used
        as an HTTP proxy, and the other way round. If they are right, ask the proxy's
        administrator."""),
    "proxy.not_http": machine.fail("""
        What responds at {proxy} is not an HTTP proxy.
        → Correct {variable}. The address of a SOCKS proxy must start with
        socks5h://."""),
    "proxy.not_a_proxy": machine.fail("""
        What responds at {proxy} is a web server, not a proxy: {status}.
        → Correct the host and port in {variable}."""),
    "proxy.not_socks": machine.fail("""
        What responds at {proxy} is not a proxy for SOCKS {version}.
        → Correct {variable}. The address of an HTTP proxy must start with http://, that
        of most SOCKS proxies with socks5h://."""),
    "proxy.not_tls": machine.fail("""
        The proxy {proxy} does not support TLS, but {variable} starts with https://.
        → Begin the value of {variable} with http://. Programs can still reach https://
        addresses through such a proxy."""),
    "proxy.untrusted": proxy.fail("""
        The certificate of the proxy {proxy} cannot be trusted: {reason}.
        → Ask the proxy's administrator for the root certificate of its issuer, and set
        SSL_CERT_FILE to that file."""),
    "proxy.login": proxy.fail("""
        The proxy {proxy} requires a user name and a password, and none is set.
        → Add them to the proxy's address in {variable}, as in
        http://user:password@proxy.example:3128."""),
    "proxy.login_refused": machine.fail("""
        The proxy {proxy} does not accept the user name and password in {variable}.
        → Correct them. Special characters must be encoded: %40 for @, %25 for %, %3A
        for :."""),
    "proxy.login_page": proxy.fail("""
        The proxy {proxy} answered with a login page{location} instead of connecting to
        {host}: {status}, {title}.
        → Programs cannot fill in such a page. Log in with a browser that uses this
        proxy and try again, or ask its administrator for a login that programs can
        use."""),
    "proxy.login_scheme": proxy.fail("""
        The proxy requires a login that this program does not support: {schemes}.
        → Ask the proxy's administrator for an exception or for a login with a password
        (Basic), or use a local program that logs in for you, such as cntlm or px."""),
    "proxy.unsupported": proxy.fail("""
        The proxy does not support {what}.
        → Write socks5h:// instead of socks5:// or socks4:// in {variable}: then the
        proxy resolves the host name itself and chooses the address."""),
    "proxy.resolve_here": machine.fail("""
        This machine cannot resolve {host}, which a socks5:// or socks4:// proxy
        requires.
        → Begin the value of {variable} with socks5h:// or socks4a://, so that the proxy
        resolves the name."""),
    "proxy.cannot_resolve": proxy.fail("""
        The proxy cannot find the host {host}.
        → Compare the name letter by letter with the address you were given. If it is
        known only inside your network, add it to NO_PROXY. Otherwise, the proxy's DNS
        does not work: tell its administrator."""),
    "proxy.cannot_connect": proxy.fail("""
        The proxy could not connect to {host}: {reason}.
        → Try without the proxy: if that works, the proxy's administrator has to allow
        or repair the connection; if not, the service may be down."""),
    "proxy.error_page": proxy.fail("""
        The proxy did not connect to {host}; it responded with a page of its own:
        {status}, {title}, from {by}.
        → Ask the administrator of the proxy to allow {host}, and quote this line."""),
    "proxy.responded": proxy.fail("""
        The response is {status} {title}. It comes from the proxy {proxy} or from
        something behind it: requests go there because of {variable}.
        → To find out which, run the probe again without {variable} or with the host in
        NO_PROXY. If that works, ask the administrator of the proxy to allow the
        address; if it does not, send this line to the operator of the service."""),
    "proxy.refuses": proxy.fail("""
        The proxy {proxy} did not connect to {host}: {reason}.
        → Ask the administrator of the proxy to allow {host}."""),
}

NETWORK = {
    "dns.ok": ok("{host} resolves to {addresses}."),
    "dns.literal": ok("{host} is an IP address, so no DNS lookup is needed."),
    "dns.fake_ip": ok("""
        {host} resolves to {addresses}, which a VPN or proxy program has made up to
        redirect the connection."""),
    "dns.private": ok("""
        {host} resolves to {addresses}, which exists only in a private network."""),
    "dns.slow": network.warn("""
        {host} resolves to {addresses}, but the DNS lookup took {seconds}.
        ⇒ Every new connection waits for this lookup. Usually the first DNS server of
        this machine does not respond, and the second one is asked after a pause."""),
    "dns.hosts_file": machine.warn(f"""
        A line in the hosts file of this machine sets {{host}} to {{addresses}}, so DNS
        is not used.
        → If you do not need the line, remove it: the service may have another address
        now. {_HOSTS}"""),
    "dns.this_machine": machine.warn(f"""
        {{host}} resolves to {{addresses}}, which is this machine itself.
        → {_HOSTS_OR_DNS}"""),
    "dns.answers_everything": network.warn("""
        The DNS server gives {addresses} for every name, even for one that does not
        exist.
        → Open a web page in a browser: the network may ask you to log in. If it does
        not, ask your network's administrator for another DNS server."""),
    "dns.unknown": entered.fail("""
        The host name {host} does not exist.
        → Compare it letter by letter with the address you were given. If other people
        can use it, ask them whether they are connected to a VPN."""),
    "dns.unknown_private": network.fail("""
        The host name {host} does not exist on this network.
        → Names {kind} exist only inside a private network. Connect to its VPN, or run
        the probe inside the container or cluster where the name is known."""),
    "dns.misspelt": entered.fail("""
        The host name {host} does not exist; you probably mean {near}.
        → Correct the name to {near}."""),
    "dns.unknown_docker": entered.fail("""
        The name {host} does not exist here. Docker Desktop and Podman define it only
        inside their containers.
        → Outside a container, use localhost. In a container on Linux, start the
        container with --add-host=host.docker.internal:host-gateway, or use the address
        of the host."""),
    "dns.unknown_zone": entered.fail("""
        This machine has no network interface {zone}, which the address {host} names
        after the percent sign.
        → Use the name of an interface of this machine; “ip link” or “ipconfig” lists
        them."""),
    "dns.unknown_mdns": network.fail("""
        No machine on this network answers to the name {host}.
        → Names that end in .local are looked up by multicast (mDNS), which works only
        in the same local network, rarely over a VPN, and not inside a container. Use
        the IP address."""),
    "dns.failed": machine.fail(f"""
        The DNS lookup of {{host}} failed: {{reason}}.
        → {_OFFLINE}"""),
    "dns.silent": network.fail("""
        The DNS server did not respond within {timeout} s.
        → Open a web page in a browser on this machine, and turn the VPN off or on. If
        that changes nothing, tell your network's administrator that the DNS server does
        not respond."""),
    "tcp.ok": ok("Connected to {addresses}."),
    "tcp.v6_only": network.warn("""
        The service is reachable only over IPv6.
        → It works from here. If it has to be reached from networks, containers or
        programs without IPv6, ask the operator of the service for an IPv4 address."""),
    "tcp.v6_broken": network.warn("""
        IPv6 does not work from here, but IPv4 does: {unreachable}.
        ⇒ Programs that try IPv6 first and then wait seem to hang. Try another address
        that has IPv6: if that fails, too, IPv6 is broken on this machine or in its
        network, and has to be repaired or turned off; if it works, the service's IPv6
        is broken."""),
    "tcp.partly": service.warn("""
        Some addresses of {host} are unreachable: {unreachable}.
        → Clients that try them lose time or fail now and then. Tell the operator which
        addresses these are."""),
    "tcp.refused": service.fail("""
        {host} refused the connection: nothing is listening on port {port}.
        → Compare the port with the address you were given, and check that the service
        is running."""),
    "tcp.in_docker": entered.fail("""
        Nothing is listening on port {port} of this Docker container.
        → Inside a container, {host} is the container itself. For a service on the host,
        use host.docker.internal (on Linux, start the container with
        --add-host=host.docker.internal:host-gateway or with --network host). For
        another container, use its name."""),
    "tcp.in_podman": entered.fail("""
        Nothing is listening on port {port} of this Podman container.
        → Inside a container, {host} is the container itself. For a service on the host,
        use host.containers.internal, or start the container with --network host. For
        another container, use its name."""),
    "tcp.in_kubernetes": entered.fail("""
        Nothing is listening on port {port} of this pod.
        → Inside a pod, {host} is the pod itself. Use the name of the Service, such as
        name.namespace.svc."""),
    "tcp.in_container": entered.fail("""
        Nothing is listening on port {port} of this container.
        → Inside a container, {host} is the container itself. Use the address of the
        host, or the name of the other container."""),
    "tcp.blocked_name": network.fail(f"""
        {{host}} resolves to {{addresses}}, which is this machine, not the service.
        → {_HOSTS_OR_DNS}"""),
    "tcp.hosts_file": machine.fail(f"""
        A line in the hosts file of this machine sets {{host}} to {{addresses}}, but no
        connection to it is possible: {{reason}}.
        → Remove or correct the line for {{host}}; without it, DNS supplies the current
        address. {_HOSTS}"""),
    "tcp.needs_zone": entered.fail("""
        {addresses} is a link-local address, which needs the name of a network
        interface.
        → Add an interface of this machine after %25, as in
        http://[fe80::1%25eth0]:8000/v1, or use another address of the host."""),
    "tcp.fake_ip": machine.fail("""
        {host} resolves to {addresses}, an address that a VPN or proxy program has made
        up, but the program does not accept the connection: {reason}.
        → Restart the program (such as Clash, Surge or sing-box), or quit it and clear
        the DNS cache."""),
    "tcp.private": network.fail("""
        {addresses} is in a private network that cannot be reached from here: {reason}.
        → Connect to the network or the VPN that {host} belongs to, then try again."""),
    "tcp.timeout": network.fail("""
        No response from {host} on port {port} within {timeout} s: a firewall drops the
        packets, or the machine is down.
        → Ask your network's administrator to allow connections to {host}:{port}. If
        your network requires a proxy, set HTTPS_PROXY to its address."""),
    "tcp.forbidden": machine.fail("""
        This machine does not let this program connect to {host}: {reason}.
        → A firewall, a sandbox or a security policy on this machine forbids it. Allow
        connections to {host}:{port} there, or ask whoever manages this machine to do
        it."""),
    "tcp.rejected": network.fail("""
        A router or firewall rejected the connection to {host}: {reason}.
        → Ask your network's administrator to allow connections to {host}:{port}. In
        your own network, check that the machine is switched on."""),
    "tcp.no_route": machine.fail(f"""
        This machine has no route to {{host}}: {{reason}}.
        → {_OFFLINE}"""),
    "tcp.no_ipv6": network.fail("""
        {host} has only IPv6 addresses, and this machine has no IPv6.
        → Use a network with IPv6, or ask the operator of the service for an IPv4
        address."""),
    "tcp.no_free_port": machine.fail("""
        This machine has no free port for another connection to {host}.
        → A program opens connections faster than they expire. Wait a minute and try
        again; if it happens again, restart that program."""),
    "tcp.too_many_files": machine.fail("""
        This program cannot open another connection: too many open files.
        → Raise the limit (ulimit -n), or close programs that keep many files open."""),
    "tcp.unreachable": network.fail("""
        {host} cannot be reached: {reason}.
        → Open a web page in a browser on this machine, and turn the VPN off or on. If
        that changes nothing, send this report to your network's administrator."""),
}
