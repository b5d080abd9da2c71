"""The OpenAPI document of the table of operations. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from tract.hashing import checked_json
from tract.model import Json
from tract.remote.operations import OPERATIONS, SECTIONS, Operation
from tract.web.problems import MEDIA, STATUS

REF = "#/components/schemas/{name}"
PROBLEM = {"$ref": REF.format(name="ProblemDetails")}
BINARY: dict[str, Json] = {"type": "string", "format": "binary"}


class ProblemDetails(msgspec.Struct):
    """Why a request failed (RFC 9457)."""

    type: str
    """`urn:tract:` and the name of the error."""
    title: str
    status: int
    detail: str


@cache
def openapi() -> bytes:
    """The document, as JSON."""
    kinds = [operation.params for operation in OPERATIONS]
    returned = [operation.returns for operation in OPERATIONS if operation.returns is not None]
    types = [*kinds, *returned, ProblemDetails]
    _, components = msgspec.json.schema_components(types, ref_template=REF)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "tract",
            "version": "1",
            "description": "Version-controlled context for tool-using LLM agents.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "tags": [{"name": title} for title in SECTIONS],
        "paths": _paths(components),
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return checked_json(_portable(document)).encode("ascii")


def _portable(schema: Any) -> Any:
    """With tuples as arrays of a length: many tools do not know `prefixItems`."""
    if isinstance(schema, list):
        return [_portable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {name: _portable(value) for name, value in schema.items()}
    if "prefixItems" in fields:
        fields["items"] = {"anyOf": fields.pop("prefixItems")}
    return fields


def _paths(components: Mapping[str, Any]) -> dict[str, dict[str, Json]]:
    paths: dict[str, dict[str, Json]] = {}
    for operation in OPERATIONS:
        entry = _entry(operation, components[operation.params.__name__])
        paths.setdefault(operation.path, {})[operation.verb.lower()] = entry
    return paths


def _entry(operation: Operation, params: Mapping[str, Any]) -> dict[str, Json]:
    summary, _, rest = operation.doc.replace("\n", " ").partition(". ")
    entry: dict[str, Json] = {
        "operationId": operation.name,
        "tags": [_TAGS[operation.name]],
        "summary": summary.rstrip("."),
        "description": f"{rest}\n\nScope: `{operation.scope}`.".strip(),
        "parameters": [_in_path(name, operation) for name in operation.path_names],
        "responses": _responses(operation),
    }
    has_json = operation.accepts == "application/json"
    if operation.is_read or not has_json:
        entry["parameters"] += [
            _in_query(name, schema, operation, name in params.get("required", ()))
            for name, schema in params.get("properties", {}).items()
        ]
    if not has_json:
        media = (operation.accepts, *operation.also_accepts)
        entry["requestBody"] = _content({kind: {"schema": BINARY} for kind in media})
    elif operation.verb in ("POST", "PUT"):
        entry["parameters"].append(_KEY)
        entry["requestBody"] = _content({"application/json": _body(operation)})
    return entry


_TAGS = {each.name: title for title, section in SECTIONS.items() for each in section}


def _content(media: dict[str, Json]) -> dict[str, Json]:
    return {"required": True, "content": media}


def _body(operation: Operation) -> dict[str, Json]:
    schema = {"$ref": REF.format(name=operation.params.__name__)}
    return {"schema": schema, "example": dict(operation.example)}


_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A request that is repeated with the same key is carried out once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}


def _in_path(name: str, operation: Operation) -> dict[str, Json]:
    example = _PATH_EXAMPLES.get(name) or operation.example.get(name)
    schema = {"type": "string", "minLength": 1}
    value: dict[str, Json] = {"name": name, "in": "path", "required": True, "schema": schema}
    return value | ({"example": example} if example else {})


_PATH_EXAMPLES = {"dialog": "default", "commit": "main", "id": "call_1"}


def _in_query(
    name: str, schema: Mapping[str, Any], operation: Operation, is_required: bool
) -> dict[str, Json]:
    schema = dict(schema)
    description = schema.pop("description", None)
    value: dict[str, Json] = {
        "name": name,
        "in": "query",
        "required": is_required,
        "schema": _without_null(schema),
    }
    if description:
        value["description"] = description
    if name in operation.example:
        value["example"] = operation.example[name]
    return value


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has no null: a parameter is absent then."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if not kinds:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**rest, **kinds[0]} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _responses(operation: Operation) -> dict[str, Json]:
    success: dict[str, Json]
    if operation.returns is not None:
        success = {"200": {"description": "Done.", "content": _returned(operation)}}
    elif operation.is_read:
        is_json = operation.media == "application/json"
        media = {operation.media: {"schema": {} if is_json else BINARY}}
        success = {"200": {"description": "Done.", "content": media}}
    else:
        success = {"204": {"description": "Done."}}
    if operation.also_accepts:  # an answer has the format of the request
        success["200"]["content"][operation.accepts] = {"schema": BINARY}
    if operation.name == "result":
        text = {"schema": {"type": "string"}}
        success["200"]["content"]["text/plain"] = text
        success["206"] = {"description": "A range of bytes.", "content": success["200"]["content"]}
        success["304"] = {"description": "The client has it already."}
    problems = {
        str(status): {"description": _TITLES[status], "content": {MEDIA: {"schema": PROBLEM}}}
        for status in sorted(_OTHERS | _OWN.get(operation.name, set()))
    }
    return success | problems


def _returned(operation: Operation) -> dict[str, Json]:
    [schema], _ = msgspec.json.schema_components([operation.returns], ref_template=REF)
    if operation.is_paged:
        properties = {
            "items": {"type": "array", "items": schema},
            "next": {"type": ["string", "null"], "description": "The cursor of the next page."},
            "note": {
                "type": "string",
                "description": "What a search left out, or why it was slow.",
            },
        }
        schema = {"type": "object", "properties": properties, "required": ["items", "next"]}
    return {"application/json": {"schema": schema}}


_OWN = {"result": {416}, "traces": {400}}
_OTHERS = {401, 403, 408, 413, 415, 421, 429, 504, *(status for _, status in STATUS)}
_TITLES = {
    400: "The body is not what its media type says.",
    401: "The bearer token is missing or unknown.",
    403: "The token or the origin does not allow this.",
    404: "There is no such thing, or the token is not for it.",
    408: "The request did not arrive in time.",
    409: "Another writer was first, or the name is ambiguous.",
    410: "The content was forgotten on purpose.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    416: "The result does not have these bytes.",
    421: "The server has another name.",
    422: "The request cannot be accepted.",
    429: "Too many requests.",
    500: "The database is damaged, or failed.",
    501: "An optional dependency is not installed.",
    502: "The model failed.",
    503: "The database is busy or cannot be reached; try again.",
    504: "Not done in time; a write may still be done.",
    507: "There is no room left.",
}
