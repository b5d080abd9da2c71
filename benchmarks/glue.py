"""The lines of a program that a person writes or changes to use tract in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

OF_TRACT = {"opentelemetry_spans"}
"""Programs that ask their model through tract, with or without the adapter: of those, only what
comes from `tract.integrations` is glue."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def glue_lines(path: Path) -> int:
    """How many lines of a program are glue, without its imports. What is only indented is not."""
    package = "tract.integrations" if path.stem in OF_TRACT else "tract"
    return count_lines(path.read_text("utf-8"), package)


def count_lines(source: str, package: str = "tract") -> int:
    """The lines with a name of a package, with what such a name returns, or of a call of it. What a
    function was passed and returns is the caller's own: its lines are the same without tract."""
    tree = ast.parse(source)
    imported = dict(_imported(tree, package))
    wrappers = {name for name, module in imported.items() if _returns_its_argument(module, name)}
    names = set(imported)
    while new := {name for node in ast.walk(tree) for name in _bound(node, names, wrappers)}:
        names |= new
    nodes = [node for node in ast.walk(tree) if _is_glue(node, names)]
    return len({line for node in nodes for line in _lines(node)})


def _imported(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """The names that come from a package, each with its module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{package}."):
            yield from ((alias.asname or alias.name, node.module or "") for alias in node.names)


def _bound(node: ast.AST, names: set[str], wrappers: set[str]) -> set[str]:
    """The names, of those that are not known yet, that stand for a value of tract."""
    pairs: list[tuple[ast.AST | None, ast.expr]] = []
    match node:
        case ast.Assign(targets=targets, value=value):
            pairs = [(target, value) for target in targets]
        case ast.withitem(context_expr=value, optional_vars=target):
            pairs = [(target, value)]
        case ast.NamedExpr(target=target, value=value):
            pairs = [(target, value)]
    own = [target for target, value in pairs if _is_own(value, names, wrappers)]
    return {target.id for target in own if isinstance(target, ast.Name)} - names


def _is_own(value: ast.AST | None, names: set[str], wrappers: set[str]) -> bool:
    """Whether a value is tract's: a name of it, what one returns, or only such things together."""
    match value:
        case ast.Call(func=function):
            return _mentions(function, names) and not _mentions(function, wrappers)
        case ast.Dict(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return bool(parts) and all(_is_own(part, names, wrappers) for part in parts)
        case ast.Attribute(value=inner) | ast.Await(value=inner) | ast.Starred(value=inner):
            return _is_own(inner, names, wrappers)
        case ast.NamedExpr(value=inner) | ast.Subscript(value=inner):
            return _is_own(inner, names, wrappers)
    return isinstance(value, ast.Name) and value.id in names


def _is_glue(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Call):
        return _mentions(node.func, names)
    return isinstance(node, ast.Name) and node.id in names


def _lines(node: ast.AST) -> range:
    assert isinstance(node, ast.expr)
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


# What a function returns, as its annotations say it: not every framework is installed


def _returns_its_argument(module: str, name: str) -> bool:
    """Whether a function returns what is passed to it first, as its types say."""
    function = _function(module, name)
    if function is None or not function.args.args or function.returns is None:
        return False
    accepted = function.args.args[0].annotation
    return accepted is not None and ast.dump(accepted) == ast.dump(function.returns)


def _function(module: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    for node in ast.walk(ast.parse(Path(spec.origin).read_text("utf-8"))):
        if isinstance(node, FUNCTIONS) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return _function(node.module or "", name)
    return None
