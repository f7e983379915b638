"""What `readback doctor` expects of the API's role is what grants.sql gives to it."""

import re
from pathlib import Path

from readback.cli.doctor.database import API_PRIVILEGES

GRANTS = Path(__file__).parents[2] / "deploy" / "postgresql" / "grants.sql"


def test_the_doctor_expects_exactly_the_privileges_of_the_file():
    text = re.sub(r"--.*", "", GRANTS.read_text())
    granted = {
        (table, privilege, tuple(re.findall(r"\w+", columns)))
        for privileges, table in re.findall(r"GRANT ([^;]*?)\s+ON (\w+) TO", text)
        for privilege, columns in re.findall(r"([A-Z]+)(?: \(([^)]*)\))?", privileges)
    }

    assert len(granted) == len(API_PRIVILEGES)
    assert granted == {
        (table, privilege, tuple(columns.split()))
        for table, privilege, columns in API_PRIVILEGES
    }
