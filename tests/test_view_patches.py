"""Patches: the formats in which models write changes."""

from hypothesis import given
from hypothesis import strategies as st

from tract.view.patches import read_patch

alphabet = st.sampled_from(
    [
        *("*** Begin Patch", "*** End Patch", "*** Update File: x", "*** Move to: y", "@@ f"),
        *("--- a/x", "+++ b/x", "@@ -1 +1 @@", "+new", "-old", " same", "", "words"),
        *("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", ":start_line:1", "-------"),
    ]
)


def files_of(text):
    patch = read_patch(text)
    assert patch is not None
    return patch.files


@given(st.lists(alphabet, max_size=14).map("\n".join))
def test_whatever_a_model_writes_is_read_or_left_alone(text):
    patch = read_patch(text)
    if patch is None:
        return
    everything = "\n".join(
        [
            patch.around,
            *(f"{file.path}\n{line.text}" for file in patch.files for line in file.lines),
        ]
    )
    for word in ("new", "old", "same", "words"):
        assert word not in text or word in everything


def test_a_moved_file_says_where_to():
    text = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch"
    (file,) = files_of(text)
    assert (file.path, file.action, file.counts) == ("a", "move", (1, 1))
    assert file.lines[0].text == "Move to: b"


def test_a_new_file_of_a_unified_diff_has_its_own_name():
    (file,) = files_of("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n")
    assert file.path == "new.py"


def test_a_removed_line_that_looks_like_a_header_stays_a_line():
    (file,) = files_of("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- a comment\n y\n")
    assert [line.text for line in file.lines] == ["@@ -1,2 +1 @@", "-- a comment", "y"]
