"""Canonical JSON (RFC 8785) and the digests made from it.

A digest is always `sha256:` followed by 64 hexadecimal digits. Canonical JSON has no NaN, no
Infinity and no integer beyond 2^53 - 1; all three are refused, so that what is signed is what
every reader parses.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import rfc8785

from safetyrepro.errors import InputError, shorten

JsonValue: TypeAlias = bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None

DIGEST_PREFIX = "sha256:"
_CHUNK_BYTES = 1 << 20
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def canonical_bytes(value: JsonValue) -> bytes:
    """The RFC 8785 bytes of `value`.

    Raises:
        InputError: a NaN, an Infinity, an integer beyond 2^53 - 1, a lone surrogate, nesting beyond
            Python's limit, or something JSON has no word for.
    """
    try:
        return rfc8785.dumps(value)
    except UnicodeEncodeError as error:
        stray = error.object[error.start]
        raise InputError(f"canonical JSON: text must be Unicode; got {stray!r}") from None
    except RecursionError:
        raise InputError("canonical JSON: must not be nested this deeply") from None
    except rfc8785.CanonicalizationError as error:
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
    """The JSON value in `data`; what two readers could take differently is refused.

    Raises:
        InputError: with `where` and the reason: not UTF-8, not JSON, a key twice in one object, NaN, an
            Infinity, a number that overflows, a lone surrogate, nesting beyond Python's limit.
    """

    def refuse_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        seen: dict[str, JsonValue] = {}
        for key, value in pairs:
            if key in seen:
                raise InputError(f"{where}: object keys must be unique; got {key!r} twice")
            seen[key] = value
        return seen

    def finite(text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            raise InputError(f"{where}: numbers must be finite; got {shorten(text)}")
        return number

    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        parsed: JsonValue = json.loads(
            text, object_pairs_hook=refuse_duplicates, parse_constant=finite, parse_float=finite
        )
        if isinstance(data, str):
            data.encode()
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(parsed, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{where}: text must be Unicode; got {error.object[error.start]!r}") from None
    except RecursionError:
        raise InputError(f"{where}: must not be nested this deeply") from None
    except ValueError as error:
        raise InputError(f"{where}: must be JSON; {error}") from error
    return parsed
