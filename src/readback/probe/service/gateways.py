"""The table of gateways: how each is recognized, and what its error codes mean.

A gateway is recognized by a header or a text of its own, never by a status alone. A
code is the status, or the number that the gateway writes into a header or its page.
"""

from __future__ import annotations

import re

from readback.probe.common.results import Fact, ProbeError
from readback.probe.transport.exchanges import ProbeResponse

_SEARCHED_BYTES = 8192
_DOWN, _BLOCKS, _ADDRESS = "gateway.down", "gateway.blocks", "gateway.address"
_REQUEST = "gateway.request"

# The name and a mark of each, then for its codes the id and the meaning. The mark and
# the codes are patterns for the status, the headers, one in each line, and the page.
GATEWAYS: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    ("Cloudflare", "^server: cloudflare|^cf-ray:"): {
        "error(?: code:)? (1003)": (_ADDRESS, "an IP address is used as the host"),
        "error(?: code:)? (1016)": (_DOWN, "it cannot resolve the service's host"),
        "error(?: code:)? (1033)": (_DOWN, "the tunnel to the service is closed"),
        "error(?: code:)? (1101|1102)": (_DOWN, "a Worker of the operator failed"),
        "error(?: code:)? (1015)": (_BLOCKS, "its rate limit was reached"),
        "error(?: code:)? (1006|1007|1008)": (_BLOCKS, "it bans this IP address"),
        "error(?: code:)? (1009)": (_BLOCKS, "it blocks this country or region"),
        "error(?: code:)? (1010)": (_BLOCKS, "it blocks this kind of program"),
        "error(?: code:)? (1012|1020)": (_BLOCKS, "a firewall rule matches"),
        "^status (520)": (_DOWN, "the service sent an empty or invalid response"),
        "^status (521)": (_DOWN, "the service refuses its connections"),
        "^status (522)": (_DOWN, "the service does not accept its connection"),
        "^status (523)": (_DOWN, "it has no route to the service"),
        "^status (524)": (_DOWN, "the service accepted a request but is too slow"),
        "^status (525)": (_DOWN, "its TLS handshake with the service failed"),
        "^status (526)": (_DOWN, "the service's certificate is not valid for it"),
        "^status (502|504|527)": (_DOWN, "it got no response from the service"),
        "^status (530)": (_DOWN, "it cannot reach the service; the page says why"),
    },
    ("Heroku", r"^server: heroku|^heroku-|herokucdn\.com"): {
        "no-such-app": (_ADDRESS, "there is no application with this host name"),
        "(H10)": (_DOWN, "the application has crashed"),
        "(H12)": (_DOWN, "the application did not respond within 30 s"),
        "(H14)": (_DOWN, "no process of the application is running"),
        "(H[0-9]{2})": (_DOWN, "the application failed; Heroku lists this code"),
        "application-error": (_DOWN, "the application has crashed or is starting"),
    },
    ("ngrok", "ERR_NGROK_"): {
        "(ERR_NGROK_3200)": (_ADDRESS, "the tunnel is closed or has another name"),
        "(ERR_NGROK_6024)": (
            _REQUEST,
            "it shows a warning page unless a request has the header "
            "ngrok-skip-browser-warning",
        ),
        "(ERR_NGROK_(?:725|727|734))": (_BLOCKS, "a limit of its plan was reached"),
        "(ERR_NGROK_(?:3004|8012))": (_DOWN, "nothing listens behind the tunnel"),
        "(ERR_NGROK_[0-9]+)": (_DOWN, "see this code in ngrok's documentation"),
    },
    ("Vercel", "^x-vercel-error:"): {
        "(DEPLOYMENT_(?:NOT_FOUND|DELETED))": (_ADDRESS, "there is no such site"),
        "(DEPLOYMENT_[A-Z_]+)": (_DOWN, "the deployment is paused or disabled"),
        "(NOT_FOUND)": (_ADDRESS, "the site has no such path"),
        "([A-Z]+_TIMEOUT)": (_DOWN, "the service took too long"),
        "(FUNCTION_[A-Z_]+)": (_DOWN, "the service has crashed"),
    },
    ("Amazon API Gateway", "^x-amzn-errortype:|^x-amz-apigw-id:"): {
        "Missing Authentication ?Token": (_ADDRESS, "it has no such path or stage"),
        "^status (403)": (_BLOCKS, "it requires a key or a signature of its own"),
        "^status (429)": (_BLOCKS, "its rate limit or quota was reached"),
        "^status (50[0-9])": (_DOWN, "the service behind it failed or is too slow"),
    },
    ("Amazon S3", "^server: AmazonS3|<Code>NoSuchBucket"): {
        "<Code>([A-Za-z]+)</Code>": (_ADDRESS, "this is file storage, not an API"),
    },
    ("CloudFront", "^server: CloudFront|^x-cache: Error from cloudfront"): {
        "^status (403)": (_BLOCKS, "it blocks the request, or has no such site"),
        "^status (50[0-9])": (_DOWN, "it cannot reach the service"),
    },
    ("Amazon's load balancer", "^server: awselb/"): {
        "^status (502)": (_DOWN, "the service closed the connection"),
        "^status (503)": (_DOWN, "no server is registered behind it"),
        "^status (504)": (_DOWN, "the service did not respond in time"),
        "^status (403)": (_BLOCKS, "a firewall rule matches"),
    },
    ("Kong", "^server: kong|^via: [^\n]*kong|no Route matched with those values"): {
        "no Route matched": (_ADDRESS, "it has no route for this host and path"),
        "^status (429)": (_BLOCKS, "its rate limit was reached"),
        "^status (403)": (_BLOCKS, "its rules do not allow the request"),
        "^status (50[0-9])": (_DOWN, "the service behind it is not available"),
    },
    ("Envoy", "^server: (?:istio-)?envoy|upstream connect error or disconnect"): {
        "RBAC: access denied": (_BLOCKS, "a policy of the cluster denies access"),
        "^status (404)": (_ADDRESS, "it has no route for this host and path"),
        "^status (50[0-9])": (_DOWN, "the service behind it is not available"),
    },
    ("A Kubernetes API server", '"kind": ?"Status"'): {
        "^status ([0-9]+)": (_ADDRESS, "it manages a cluster; use the Ingress"),
    },
    ("An ingress controller", "default backend - 404"): {
        "^status (404)": (_ADDRESS, "it has no rule for this host and path"),
    },
    ("Azure API Management", '"statusCode": ?[0-9]+, ?"message"'): {
        "^status (404)": (_ADDRESS, "it has no operation at this path"),
        "^status (403)": (_BLOCKS, "its policy or quota does not allow this"),
        "^status (429)": (_BLOCKS, "its rate limit was reached"),
        "^status (50[0-9])": (_DOWN, "the service behind it is not available"),
    },
}


def find(response: ProbeResponse, said: str) -> ProbeError | None:
    """Return the error for a response of a gateway that the table explains."""
    headers = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
    page = response.body[:_SEARCHED_BYTES].decode("utf-8", "replace")
    # Cloudflare's page has the number of its error in an element of its own.
    page = re.sub("cf-error-code[\"']?>", "error ", page)
    received = f"status {response.status}\n{headers}\n\n{page}"
    for (name, mark), codes in GATEWAYS.items():
        if not re.search(mark, received, re.IGNORECASE | re.MULTILINE):
            continue
        for pattern, (id, meaning) in codes.items():
            if match := re.search(pattern, received, re.IGNORECASE | re.MULTILINE):
                facts: dict[str, Fact] = {
                    "name": name,
                    "code": match[1] if match.groups() else response.status,
                    "meaning": meaning,
                    "status": response.status,
                    "said": said,
                    "tried": "",
                }
                return ProbeError(id, **facts)
    return None
