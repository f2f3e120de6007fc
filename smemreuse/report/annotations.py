"""Findings for other programs: a log of SARIF 2.1.0, and annotations of a run on GitHub."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from smemreuse.report.data import Data
from smemreuse.results.findings import Finding, Level, Location

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "hazard/v1"


def sarif(found: Sequence[Finding], rules: Mapping[str, str], tool: str, version: str) -> Data:
    """A log of SARIF 2.1.0: a result for each finding, at its line.

    `rules` has a sentence for each kind of finding.
    """
    driver = {
        "name": tool,
        "version": version,
        "rules": [{"id": one, "shortDescription": {"text": text}} for one, text in rules.items()],
    }
    seen = Counter[tuple[str, str]]()
    results = []
    for one in found:
        seen[one.place.file, one.fingerprint] += 1
        results.append(_result(one, seen[one.place.file, one.fingerprint]))
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _result(found: Finding, number: int) -> Data:
    """The result of a finding; `number` tells it from those before it with its fingerprint, which
    GitHub would take for one."""
    fingerprint = found.fingerprint if number == 1 else f"{found.fingerprint}/{number}"
    result: Data = {
        "ruleId": found.rule,
        "level": found.level.value,
        "message": {"text": f"{found.kernel}: {found.message}"},
        "locations": [_location(found.place)],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
    }
    if found.related:
        result["relatedLocations"] = [*map(_location, found.related)]
    if found.accepted:
        result["suppressions"] = [{"kind": "external", "justification": found.accepted}]
    return result


def _location(place: Location) -> Data:
    path = Path(place.file)
    uri = path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
    there: Data = {"artifactLocation": {"uri": uri}}
    if place.line:
        there["region"] = {"startLine": place.line}
    return {
        "physicalLocation": there,
        **({"message": {"text": place.text}} if place.text else {}),
    }


def github_lines(found: Sequence[Finding]) -> Iterator[str]:
    """Workflow commands, each an annotation of a line; what is accepted is none."""
    for one in (one for one in found if not one.accepted):
        level = "error" if one.level is Level.ERROR else "warning"
        line = f",line={one.place.line}" if one.place.line else ""
        title = _property(f"{one.rule} in {one.kernel}")
        yield (
            f"::{level} file={_property(one.place.file)}{line},title={title}"
            f"::{_message(one.message)}"
        )


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
