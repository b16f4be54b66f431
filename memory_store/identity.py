"""Whose store it is: what must be equal for stored bytes to mean the same, kept readable beside the store.

One sub-directory per identity. Its name is a hash of the identity, its `identity.json` the identity itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xxhash

from memory_store.errors import UnknownSchema, WrongIdentity

IdentityValue = str | int | float | list[Any]
FILE_NAME = "identity.json"


def canonical_json(identity: Mapping[str, IdentityValue]) -> bytes:
    """Compact UTF-8 JSON with sorted keys. Raises `TypeError` or `ValueError` for values that JSON cannot hold exactly.

    Types count: 1 and 1.0 are different identities.
    """
    text = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def directory_name(identity: Mapping[str, IdentityValue]) -> str:
    """Hexadecimal xxh3-128 of the canonical JSON."""
    return xxhash.xxh3_128_hexdigest(canonical_json(identity))


def write_identity(directory: Path, identity: Mapping[str, IdentityValue]) -> None:
    """Write `identity.json` so that it is either absent or whole, also after a power cut."""
    text = json.dumps(dict(identity), sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    unfinished = directory / f".{FILE_NAME}.tmp"
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(directory / FILE_NAME)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_identity(directory: Path) -> dict[str, IdentityValue] | None:
    """The identity of a store's directory, None when there is none. Raises `UnknownSchema` when it is unreadable."""
    file = directory / FILE_NAME
    try:
        identity = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise UnknownSchema(f"{file} is not JSON ({error}); restore it, or move the folder away") from error
    if not isinstance(identity, dict):
        raise UnknownSchema(f"{file} is not a JSON object; restore it, or move the folder away")
    return identity


def differences(stored: Mapping[str, IdentityValue], wanted: Mapping[str, IdentityValue]) -> list[str]:
    """One text per field that differs, in the order of their names; empty when the identities are equal."""
    return [
        f"{field}: the store has {_shown(stored, field)}, this server {_shown(wanted, field)}"
        for field in sorted({*stored, *wanted})
        if _shown(stored, field) != _shown(wanted, field)
    ]


def require_same(directory: Path, stored: Mapping[str, IdentityValue], wanted: Mapping[str, IdentityValue]) -> None:
    """Raises `WrongIdentity` naming the fields that differ."""
    if fields := differences(stored, wanted):
        raise WrongIdentity(
            f"the store in {directory} belongs to another model or layout ({'; '.join(fields)}); "
            "serve the model it was made with, or use another home"
        )


def nearest_store(home: Path, wanted: Mapping[str, IdentityValue]) -> tuple[Path, list[str]] | None:
    """The readable store in `home` that differs in the fewest fields, with these; None when there is no other store."""
    candidates = []
    for directory in sorted(home.iterdir()) if home.is_dir() else []:
        try:
            stored = read_identity(directory)
        except UnknownSchema:
            continue
        if stored is not None and directory.name != directory_name(wanted):
            candidates.append((directory, differences(stored, wanted)))
    return min(candidates, key=lambda candidate: len(candidate[1]), default=None)


def _shown(identity: Mapping[str, IdentityValue], field: str) -> str:
    return json.dumps(identity[field], ensure_ascii=False) if field in identity else "nothing"
