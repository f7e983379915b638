"""The metrics of a healthy service, and what each fault changes in them.

Values are in promtool's notation: `1+2x3` means 1, 3, 5, 7.
"""

from readback.processes import metrics

API = '{job="readback-api",instance="10.0.0.1:8002"}'
CABINET = '{job="readback-cabinet",instance="10.0.0.3:8001"}'
FRONT = '{job="readback-front",instance="10.0.0.5:8404"}'
# The steps of a series: before the fault, during it and afterwards.
BEFORE = 3
DURING = 16
AFTER = 20
BEGIN = BEFORE + 1
END = BEGIN + DURING + 1
LAST = END + AFTER
MINUTES_PER_STEP = 2
# These alerts look at a whole hour.
LONG_STEPS = {"ReadbackVersionsDiffer": 4, "ReadbackMailsNotDelivered": 4}


def with_label(labels: str, label: str) -> str:
    return labels.removesuffix("}") + f",{label}}}"


def steady(value: float) -> str:
    return f"{value}+0x{LAST}"


def broken(healthy: float, value: float) -> str:
    return f"{healthy}+0x{BEFORE} {value}+0x{DURING} {healthy}+0x{AFTER}"


def growing(by: float) -> str:
    """Return a counter that grows only during the fault."""
    return f"0+0x{BEFORE} {by}+{by}x{DURING} {(DURING + 1) * by}+0x{AFTER}"


def growing_less(by: float, less: float) -> str:
    """Return a counter that grows more slowly during the fault."""
    begin = BEFORE * by + less
    end = begin + DURING * less
    return f"0+{by}x{BEFORE} {begin}+{less}x{DURING} {end}+{by}x{AFTER}"


def metric(name: str, labels: str = API, label: str = "") -> str:
    full = metrics.PREFIX + name
    return full + (with_label(labels, label) if label else labels)


OTHER_API = API.replace("10.0.0.1", "10.0.0.2")
INTERNAL_ERRORS = metric(
    "requests_total", API, 'endpoint="models",code="internal_error"'
)
EXPIRY = metric("certificate_expiry_timestamp_seconds")
PROXY = with_label(FRONT, 'proxy="replicas"')
REDISPATCHES = f"haproxy_backend_redispatch_warnings_total{PROXY}"
ACCEPTED = metric("requests_total", API, 'endpoint="chat",code="ok"')
REHEARSED = metric("requests_total", API, 'endpoint="chat",code="rehearsed"')
FAST = metric("request_seconds_bucket", API, 'le="0.1"')
BACKUP = metric("last_backup_timestamp_seconds", CABINET)
IN_A_MONTH = 30 * 86400
HEALTHY = {
    f"up{API}": steady(1),
    f"up{OTHER_API}": steady(1),
    f"up{CABINET}": steady(1),
    f"up{FRONT}": steady(1),
    f"haproxy_backend_retry_warnings_total{PROXY}": steady(0),
    REDISPATCHES: steady(0),
    f"haproxy_backend_http_requests_total{PROXY}": f"0+1200x{LAST}",
    ACCEPTED: steady(0),
    ACCEPTED.replace(API[1:-1], OTHER_API[1:-1]): steady(0),
    metric("build_info", API, 'version="0.1.0"'): steady(1),
    metric("build_info", CABINET, 'version="0.1.0"'): steady(1),
    metric("start_time_seconds"): steady(1_000_000),
    metric("worker_deaths_total"): steady(0),
    metric("log_lines_dropped_total"): steady(0),
    metric("workers"): steady(2),
    metric("database_readable_workers"): steady(2),
    metric("database_writable_workers"): steady(2),
    metric("database_disk_free_bytes"): steady(50e9),
    metric("pending_rows"): steady(100),
    metric("journal_dropped_total"): steady(0),
    metric("round_errors_total"): steady(0),
    metric("open_connections"): steady(500),
    metric("max_open_connections"): steady(2000),
    metric("connections_refused_total"): steady(0),
    INTERNAL_ERRORS: steady(0),
    # Answers to rehearsal keys must never trigger an alert.
    REHEARSED: growing(100),
    **dict.fromkeys(
        (
            FAST,
            FAST.replace('"0.1"', '"0.25"'),
            FAST.replace('"0.1"', '"+Inf"'),
            metric("request_seconds_count"),
        ),
        f"0+100x{LAST}",
    ),
    EXPIRY: steady(IN_A_MONTH),
    metric("cabinet_database_up", CABINET): steady(1),
    metric("oldest_mail_age_seconds", CABINET): steady(1),
    BACKUP: steady(0),
    **{
        metric("pages_total", CABINET, f'status="{status}"'): steady(0)
        for status in (500, 502, 503)
    },
    **{
        metric("mails_total", CABINET, f'outcome="{outcome}"'): steady(0)
        for outcome in ("refused", "expired")
    },
}
# The series that each fault changes.
FAULTS: dict[str, dict[str, str]] = {
    "ReadbackApiDown": {f"up{API}": broken(1, 0), f"up{OTHER_API}": broken(1, 0)},
    "ReadbackCabinetDown": {f"up{CABINET}": broken(1, 0)},
    "ReadbackBalancerDown": {f"up{FRONT}": broken(1, 0)},
    "ReadbackRetries": {REDISPATCHES: growing(600)},
    "ReadbackShareUneven": {ACCEPTED: growing(200_000)},
    "ReadbackReplicaDown": {f"up{OTHER_API}": broken(1, 0)},
    "ReadbackDatabaseUnavailable": {metric("database_readable_workers"): broken(2, 1)},
    "ReadbackCabinetDatabaseUnavailable": {
        metric("cabinet_database_up", CABINET): broken(1, 0),
        metric("pages_total", CABINET, 'status="503"'): growing(10),
    },
    "ReadbackUsageNotWritten": {metric("database_writable_workers"): broken(2, 0)},
    "ReadbackUsageDelayed": {metric("pending_rows"): broken(100, 12_000)},
    "ReadbackUsageLost": {metric("journal_dropped_total"): growing(3)},
    "ReadbackDiskLow": {metric("database_disk_free_bytes"): broken(50e9, 5e8)},
    "ReadbackAnswersSlow": {FAST: growing_less(100, 95)},
    "ReadbackConnectionsNearLimit": {metric("open_connections"): broken(500, 1700)},
    "ReadbackConnectionsRefused": {metric("connections_refused_total"): growing(600)},
    "ReadbackInternalErrors": {INTERNAL_ERRORS: growing(1)},
    "ReadbackProcessesDie": {metric("worker_deaths_total"): growing(1)},
    "ReadbackLogLinesDropped": {metric("log_lines_dropped_total"): growing(1)},
    "ReadbackSingleSignOnFails": {
        metric("pages_total", CABINET, 'status="502"'): growing(1)
    },
    "ReadbackMailsWait": {metric("oldest_mail_age_seconds", CABINET): broken(1, 400)},
    "ReadbackMailsNotDelivered": {
        metric("mails_total", CABINET, 'outcome="refused"'): growing(1)
    },
    "ReadbackCertificateExpires": {EXPIRY: broken(IN_A_MONTH, 7 * 86400)},
    "ReadbackCertificateExpiresNow": {EXPIRY: broken(IN_A_MONTH, 86400)},
    "ReadbackBackupOld": {BACKUP: broken(0, -4 * 86400)},
    "ReadbackVersionsDiffer": {
        metric("build_info", OTHER_API, 'version="0.2.0"'): (
            f"_x{BEGIN} 1+0x{END - BEGIN - 1} stale _x{LAST - END}"
        )
    },
}
# Another alert that the same fault triggers.
ALSO = {
    "ReadbackApiDown": "ReadbackReplicaDown",
    "ReadbackCabinetDown": "ReadbackReplicaDown",
    "ReadbackBalancerDown": "ReadbackReplicaDown",
    "ReadbackCertificateExpiresNow": "ReadbackCertificateExpires",
}
