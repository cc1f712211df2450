"""Examines a table: every check names the requirements that a finding breaks, and nothing is changed.

`examine` runs the checks; each is one small function in a module of its subject, registered with its requirements as
data (`drawstring.doctor.findings.check`). Whose duty: say what is wrong and where. Mending it is the writers'.
"""

from drawstring.doctor.findings import Check, Finding, Severity
from drawstring.doctor.run import Report, all_checks, examine

__all__ = ["Check", "Finding", "Report", "Severity", "all_checks", "examine"]
