"""Generated names: every value that the grammars of `drawstring_spec.names` know."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from drawstring_spec.instants import PENDING_ONLY_ACTIONS, Action, State
from drawstring_spec.names import (
    BASE_FILE_EXTENSIONS,
    ArchivedTimelineFileName,
    BaseFileName,
    LogFileName,
    ManifestFileName,
    MarkerName,
    MarkerType,
    TimelineFileName,
    WriteToken,
)

digits = st.text("0123456789", min_size=1, max_size=20)
file_ids = st.text(string.ascii_letters + string.digits + "-", min_size=1, max_size=40)
numbers = st.integers(min_value=0, max_value=9_999_999_999)

write_tokens = st.builds(WriteToken, numbers, numbers, numbers)
base_file_names = st.builds(BaseFileName, file_ids, file_ids, digits, st.sampled_from(sorted(BASE_FILE_EXTENSIONS)))
log_file_names = st.one_of(
    st.builds(LogFileName, file_ids, digits, numbers),
    st.builds(LogFileName, file_ids, digits, numbers, write_tokens.map(WriteToken.format), st.booleans()),
)
data_file_names = st.one_of(base_file_names, log_file_names)
marker_names = st.builds(MarkerName, data_file_names.map(lambda name: name.format()), st.sampled_from(list(MarkerType)))
archived_names = st.builds(ArchivedTimelineFileName, digits, digits, st.integers(min_value=0, max_value=9))
manifest_names = st.builds(ManifestFileName, st.integers(min_value=1, max_value=9_999_999_999))

_pending_timeline_names = st.one_of(
    st.builds(TimelineFileName, digits, st.sampled_from(list(Action)), st.just(State.INFLIGHT)),
    st.builds(
        TimelineFileName,
        digits,
        st.sampled_from([action for action in Action if action is not Action.SAVEPOINT]),
        st.just(State.REQUESTED),
    ),
)
_completed_timeline_names = st.builds(
    TimelineFileName,
    digits,
    st.sampled_from([action for action in Action if action not in PENDING_ONLY_ACTIONS]),
    st.just(State.COMPLETED),
    st.none() | digits,
)
timeline_file_names = st.one_of(_pending_timeline_names, _completed_timeline_names)

every_name = st.one_of(
    timeline_file_names,
    base_file_names,
    log_file_names,
    marker_names,
    archived_names,
    manifest_names,
    write_tokens,
)
