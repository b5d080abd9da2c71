"""Definitions of tools are made once for the same tools."""

from __future__ import annotations

from tract.integrations.definitions import Definitions


def test_the_same_tools_are_defined_once() -> None:
    defined: list[object] = []

    def define(tool: object) -> dict[str, object]:
        defined.append(tool)
        return {"name": str(tool)}

    one, two = object(), object()
    definitions = Definitions(define)
    assert definitions.of([]) == []
    assert definitions.of([one]) == definitions.of([one]) == [{"name": str(one)}]
    assert defined == [one]
    assert definitions.of([two]) == [{"name": str(two)}]
    assert definitions.of([two, one]) == [{"name": str(two)}, {"name": str(one)}]
    assert defined == [one, two, two, one]
