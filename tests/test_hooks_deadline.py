"""Work with a deadline, in processes of its own: it forks."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.cli import environment

SCRIPT = """
import sys, time
from pathlib import Path
from tract.hooks import deadline
done = Path(sys.argv[1])
def work(send):
    {work}
print(deadline.run_in_time(work, {seconds}), flush=True)
"""


def answer(tmp_path: Path, work: str, seconds: float = 30) -> str:
    """What comes out. The reader waits until nothing holds the output any more."""
    script = SCRIPT.format(work=work, seconds=seconds)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "done")],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_answer_in_time_is_returned_in_full(tmp_path: Path) -> None:
    assert answer(tmp_path, "send(b'yes')") == "b'yes'"
    assert answer(tmp_path, "send(b'')") == "b''"
    assert len(answer(tmp_path, "send(b'x' * 300_000)")) == 300_003


def test_work_that_fails_has_no_answer(tmp_path: Path) -> None:
    assert answer(tmp_path, "raise ValueError") == "b''"


def test_what_the_work_prints_does_not_reach_the_agent(tmp_path: Path) -> None:
    assert answer(tmp_path, "print('noise', flush=True); send(b'yes')") == "b'yes'"


def test_late_work_is_finished_in_the_background_and_knows_it(tmp_path: Path) -> None:
    script = "time.sleep(0.4); done.write_text(str(send(b'late')))"
    assert answer(tmp_path, script, 0.1) == "None"
    for _ in range(300):
        if (tmp_path / "done").exists() and (tmp_path / "done").read_text():
            break
        time.sleep(0.05)
    assert (tmp_path / "done").read_text() == "False"


def test_a_computation_that_never_yields_does_not_matter(tmp_path: Path) -> None:
    # One call that holds the interpreter: a thread could not end it.
    script = "done.write_text('started'); send(str(len(str(7 ** 400_000))).encode())"
    started = f"import sys; sys.set_int_max_str_digits(0); {script}"
    assert answer(tmp_path, started, 0.02) == "None"
