"""The shipped JSON schemas, for the tests of what commands write."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema
from referencing import Registry, Resource

FOLDER = files("smemreuse") / "schemas"
COMMON = "common.json"


def schema_named(name: str) -> dict[str, Any]:
    """A schema as it is shipped."""
    found = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@cache
def validator_of(contract: str) -> jsonschema.Draft202012Validator:
    """The validator of one contract, such as `compare`."""
    common: Resource[Any] = Resource.from_contents(schema_named(COMMON))
    registry: Registry[Any] = Registry().with_resource(COMMON, common)
    return jsonschema.Draft202012Validator(schema_named(f"{contract}.json"), registry=registry)


def require_valid(document: Any) -> None:
    """Holds an answer against the schema that it says it has."""
    name, version = document["schema"].removeprefix("smemreuse.").split("/")
    assert version == "1"
    validator_of(name).validate(document)
