"""The files inside a PDF, taken out without trusting it.

Names are checked before anybody makes a path of them, sizes are bounded before anything is
inflated, and a file that two readers would see differently is refused. What is taken out is as
genuine as the PDF it came from: verify that first.

Source: ISO 32000-2 sections 7.9.6 (name trees), 7.11.3 and 7.11.4 (file specifications, embedded
files).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from pyhanko.pdf_utils import generic

from safetyrepro.attest.hostile import hostile_input
from safetyrepro.attest.pdf_reader import READABLE, open_pdf
from safetyrepro.errors import InputError, must_be

MAX_ATTACHED_BYTES = 64 * 2**20
_MAX_ATTACHMENTS = 1_000
_MAX_TREE_NODES = 4_000
_MAX_NAME_CHARS = 200
_SAFE_PART = r"[A-Za-z0-9_][A-Za-z0-9._+-]*"
_SAFE_NAME = re.compile(rf"{_SAFE_PART}(?:/{_SAFE_PART})*", re.ASCII)
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.ASCII | re.IGNORECASE)
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file inside a PDF; `name` is a safe relative path with forward slashes."""

    name: str
    data: bytes


def read_attachments(pdf: bytes, *, where: str) -> tuple[Attachment, ...]:
    """The files attached to the PDF, in the order of its name tree; none is an empty tuple.

    Raises:
        InputError: not a PDF that can be read; a name that is absolute, leads upwards, is reserved
            on some system, or differs from another only by case; an attachment that two readers
            would see differently; more than 1,000 files, or more than 64 MiB in all.
    """
    reader = open_pdf(pdf, where=where)
    with hostile_input(where, READABLE):
        found: list[Attachment] = []
        taken: set[str] = set()
        left = MAX_ATTACHED_BYTES
        for specification in _specifications(reader.root, where=where):
            name = _name(specification, where=where)
            if name.casefold() in taken:
                raise InputError(
                    must_be(where, "attachment names must be unique, whatever their case", name)
                )
            data = _inflate(
                _stream(specification, where=f"{where}: {name}"), where=f"{where}: {name}", limit=left
            )
            taken.add(name.casefold())
            left -= len(data)
            found.append(Attachment(name=name, data=data))
            if len(found) > _MAX_ATTACHMENTS:
                raise InputError(f"{where}: must have at most {_MAX_ATTACHMENTS} attachments")
        return tuple(found)


def check_attachment_name(name: str, *, where: str) -> None:
    """Refuses a name that could lead out of a folder, or that some system reads another way.

    Raises:
        InputError: anything but letters, digits and `._+-` in parts joined by `/`.
    """
    parts = name.split("/")
    if len(name) > _MAX_NAME_CHARS or not _SAFE_NAME.fullmatch(name) or any(map(_is_treacherous, parts)):
        raise InputError(must_be(where, "attachment name must be a plain relative path", name))


def _is_treacherous(part: str) -> bool:
    return part.endswith(".") or _RESERVED.fullmatch(part) is not None


def _specifications(root: generic.DictionaryObject, *, where: str) -> Iterator[generic.DictionaryObject]:
    """The file specifications in the name tree of embedded files, each node visited once."""
    if "/Names" not in root or "/EmbeddedFiles" not in root["/Names"]:
        return
    pending = [root["/Names"]["/EmbeddedFiles"]]
    visited = 0
    while pending:
        visited += 1
        if visited > _MAX_TREE_NODES:
            raise InputError(f"{where}: the tree of attachments must have at most {_MAX_TREE_NODES} nodes")
        node = pending.pop()
        for index in range(1, len(node.get("/Names", ())), 2):
            yield node["/Names"][index]
        children = node.get("/Kids", ())
        if len(children) > _MAX_TREE_NODES:
            raise InputError(f"{where}: the tree of attachments must have at most {_MAX_TREE_NODES} nodes")
        pending += [children[index] for index in reversed(range(len(children)))]


def _name(specification: generic.DictionaryObject, *, where: str) -> str:
    names = {str(specification[key]) for key in ("/UF", "/F") if key in specification}
    if len(names) != 1:
        raise InputError(must_be(where, "an attachment must have one name for all readers", sorted(names)))
    name = names.pop()
    check_attachment_name(name, where=where)
    return name


def _stream(specification: generic.DictionaryObject, *, where: str) -> generic.StreamObject:
    embedded = specification["/EF"]
    references = {embedded.raw_get(key).reference for key in ("/UF", "/F") if key in embedded}
    if len(references) != 1:
        raise InputError(must_be(where, "must be one file for all readers", len(references)))
    stream = references.pop().get_object()
    if not isinstance(stream, generic.StreamObject):
        raise InputError(must_be(where, "must be a stream", type(stream).__name__))
    return stream


def _inflate(stream: generic.StreamObject, *, where: str, limit: int) -> bytes:
    """The stream's content, plain or deflated once; stops as soon as it passes the limit."""
    filters = stream.get("/Filter", None)
    if isinstance(filters, generic.ArrayObject) and len(filters) == 1:
        filters = filters[0]
    encoded = bytes(stream.encoded_data)
    if filters is None:
        pieces: Iterator[bytes] = iter((encoded,))
    elif filters == "/FlateDecode" and "/DecodeParms" not in stream:
        pieces = _deflated(encoded, where=where)
    else:
        raise InputError(must_be(where, "must be stored plain or deflated once", filters))
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > limit:
            raise InputError(f"{where}: attachments must have at most {MAX_ATTACHED_BYTES} bytes in all")
    return bytes(content)


def _deflated(encoded: bytes, *, where: str) -> Iterator[bytes]:
    inflater = zlib.decompressobj()
    pending = encoded
    while not inflater.eof:
        piece = inflater.decompress(pending, _CHUNK_BYTES)
        pending = inflater.unconsumed_tail
        if not piece and not pending and not inflater.eof:
            raise InputError(f"{where}: must be whole; its deflated data end early")
        yield piece
