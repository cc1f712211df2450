"""Instant times: 17 digits, ``yyyyMMddHHmmssSSS``, compared as strings.

Source: technical specification, "Timeline"; Java ``HoodieInstantTimeGenerator``. The digits are those of a
clock on a wall whose zone is a table property (``hoodie.table.timeline.timezone``): callers add the zone's
offset before they format. Whose duty it is that times grow: the time generator's, under the table lock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from drawstring_spec.errors import FormatError

INSTANT_TIME_LENGTH = 17
"""Digits of an instant time, to the millisecond."""

SECONDS_LENGTH = 14
"""Digits of an instant time of old tables, to the second; read as the last millisecond of it."""

INIT_INSTANT_TIME = "0" * SECONDS_LENGTH
"""The time before every other: initial metadata bears it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DIGITS = re.compile(r"[0-9]+")
_LAST_MILLISECOND = "999"


def format_instant_time(epoch_ms: int) -> str:
    """Return the 17 digits of a moment.

    Args:
        epoch_ms: milliseconds since 1970 in UTC; callers add a zone's offset first.

    Raises:
        FormatError: the year is not between 1 and 9999.

    """
    try:
        moment = _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError as error:
        raise FormatError(f"{epoch_ms} ms since 1970 is no date of four-digit years.", rule="TL-001") from error
    return (
        f"{moment.year:04}{moment.month:02}{moment.day:02}{moment.hour:02}{moment.minute:02}{moment.second:02}"
        f"{moment.microsecond // 1000:03}"
    )


def parse_instant_time(text: str) -> int:
    """Return the milliseconds since 1970, digits taken as UTC.

    14 digits are completed by 999 ms; what stands behind the 17th digit is cut off, as Java does.

    Raises:
        FormatError: the text is not 14, 17 or more digits of a real date.

    """
    if not _DIGITS.fullmatch(text) or (len(text) != SECONDS_LENGTH and len(text) < INSTANT_TIME_LENGTH):
        raise FormatError(f"{text[:40]!r} is no instant time: 17 digits are needed.", rule="TL-001")
    digits = (text + _LAST_MILLISECOND)[:INSTANT_TIME_LENGTH]
    parts = (digits[:4], digits[4:6], digits[6:8], digits[8:10], digits[10:12], digits[12:14])
    year, month, day, hour, minute, second = map(int, parts)
    try:
        moment = datetime(year, month, day, hour, minute, second, int(digits[14:]) * 1000, tzinfo=UTC)
    except ValueError as error:
        raise FormatError(f"{text[:40]!r} is no date.", rule="TL-001") from error
    return (moment - _EPOCH) // _MILLISECOND


def is_instant_time(text: str) -> bool:
    """Whether `parse_instant_time` takes the text: the digits of a real date."""
    try:
        parse_instant_time(text)
    except FormatError:
        return False
    return True


def next_instant_time(text: str) -> str:
    """Return the instant time one millisecond later. Raises `FormatError` as `parse_instant_time` does."""
    return format_instant_time(parse_instant_time(text) + 1)
