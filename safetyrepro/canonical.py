"""Canonical JSON (RFC 8785) and the digests made from it.

A digest is always `sha256:` followed by 64 hexadecimal digits. Canonical JSON has no NaN, no
Infinity and no integer beyond 2^53 - 1; all three are refused, so that what is signed is what
every reader parses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import rfc8785

from safetyrepro.errors import InputError

JsonValue: TypeAlias = None | bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"]

DIGEST_PREFIX = "sha256:"
_CHUNK_BYTES = 1 << 20


def canonical_bytes(value: JsonValue) -> bytes:
    """The RFC 8785 bytes of `value`.

    Raises:
        InputError: a NaN, an Infinity, an integer beyond 2^53 - 1, or something JSON has no word for.
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise InputError(f"canonical JSON: {error}") from error


def digest_bytes(data: bytes) -> str:
    """`sha256:<hex>` of the bytes."""
    return DIGEST_PREFIX + hashlib.sha256(data).hexdigest()


def digest_json(value: JsonValue) -> str:
    """`sha256:<hex>` of the canonical JSON of `value`."""
    return digest_bytes(canonical_bytes(value))


def digest_file(path: Path) -> str:
    """`sha256:<hex>` of a file's bytes, read in chunks."""
    state = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            state.update(chunk)
    return DIGEST_PREFIX + state.hexdigest()


def parse_json(data: bytes | str, where: str) -> JsonValue:
    """The JSON value in `data`; duplicate keys, NaN, Infinity and non-UTF-8 are refused.

    Raises:
        InputError: with `where` and the reason.
    """

    def refuse_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        seen: dict[str, JsonValue] = {}
        for key, value in pairs:
            if key in seen:
                raise InputError(f"{where}: object keys must be unique; got {key!r} twice")
            seen[key] = value
        return seen

    def refuse_constant(name: str) -> JsonValue:
        raise InputError(f"{where}: numbers must be finite; got {name}")

    try:
        parsed: JsonValue = json.loads(
            data, object_pairs_hook=refuse_duplicates, parse_constant=refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: must be JSON; {error}") from error
    return parsed
