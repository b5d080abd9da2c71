"""Planted faults: what is changed, and that a test which fails is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import mutants
from tests.mutants import AREAS, ROOT, Area, chosen_mutants, mutants_of

AREA = Area("any", (), ())


def changes(body: str) -> list[str]:
    source = f"def f(a: int, b: int) -> object:\n    {body}\n".encode()
    made = mutants_of(AREA, "f.py", source)
    return [mutants.mutated(source, mutant).decode().splitlines()[1].strip() for mutant in made]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return a == b", ["return None", "return a != b"]),
        ("return (a) < (b)", ["return None", "return (a) <= (b)"]),
        ("return a and b and 1", ["return None", "return a or b and 1", "return a and b and 2"]),
        ("x = not a", ["x = a"]),
        ("x = True", ["x = False"]),
        ("if a: raise ValueError(1)", ["if (not (a)): raise ValueError(1)", "if a: pass"]),
        ("if a is b: f(a, b)", ["if a is not b: f(a, b)", "if a is b: pass"]),
        ("a += 1", ["pass", "a += 2"]),
        ("a.b = b", ["pass"]),
        ("for x in a: continue", ["for x in a: break"]),
        ("x: int | str = 'é' if a in b else 'ö'", ["x: int | str = 'é' if a not in b else 'ö'"]),
        ("return None", []),
    ],
)
def test_what_is_changed(line: str, expected: list[str]) -> None:
    assert sorted(changes(line)) == sorted(expected)


def test_a_mutant_names_its_line() -> None:
    source = b"# first\ndef f(a: int) -> bool:\n    return a > 1\n"
    assert [str(mutant) for mutant in mutants_of(AREA, "f.py", source)][1] == (
        "f.py:3: > → >=   in: return a > 1"
    )


def test_nothing_outside_of_functions_is_changed() -> None:
    assert list(mutants_of(AREA, "f.py", b"A = 1 + 2\nclass B:\n    c = 3\n")) == []


def test_every_area_is_there() -> None:
    """Its modules and its tests exist, and a choice has as many mutants of each."""
    for area in AREAS:
        assert all((ROOT / "src/tract" / module).is_file() for module in area.modules)
        assert all((ROOT / "tests" / name).exists() for name in area.tests)
    number = 10 * len(AREAS)
    chosen = chosen_mutants(number, 1, "")
    assert [sum(m.area == area for m in chosen) for area in AREAS] == [10] * len(AREAS)
    assert chosen == chosen_mutants(number, 1, "")
    for mutant in chosen:  # one that is not Python would be killed by any test
        source = (ROOT / "src/tract" / mutant.module).read_bytes()
        compile(mutants.mutated(source, mutant), mutant.module, "exec")


def test_a_fault_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src/tract").mkdir(parents=True)
    (tmp_path / "src/tract/__init__.py").write_text("")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_f.py").write_text(
        "from tract.f import f\n\ndef test_f():\n    assert f(1) and not f(0)\n"
    )
    source = b"def f(a):\n    b = 7\n    return a > 0\n"
    (tmp_path / "src/tract/f.py").write_bytes(source)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    area = Area("any", ("f.py",), ("test_f.py",))
    harmless, *_, harmful = mutants_of(area, "f.py", source)
    survivors = mutants.try_all([harmless, harmful], workers=1)
    assert [(mutant.old, mutant.new) for mutant in survivors] == [("7", "8")]


def test_too_many_survivors_are_a_failure() -> None:
    chosen = chosen_mutants(10, 1, "fold")
    rates = [mutants.report(chosen, chosen[:number]) for number in (0, 1, 2)]
    assert [mutants.exit_code(rate, 0.9) for rate in rates] == [0, 0, 1]
