"""Hostile PDFs, made when a test needs them: one function an attack."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from io import BytesIO

import pikepdf
from pikepdf import Array, Dictionary, Name, Stream, String

MIB = 2**20


def pdf_with(build: Callable[[pikepdf.Pdf], None], *, object_streams: bool = False) -> bytes:
    """A one-page PDF that `build` added something to."""
    pdf = pikepdf.new()
    pdf.add_blank_page()
    build(pdf)
    output = BytesIO()
    mode = pikepdf.ObjectStreamMode.generate if object_streams else pikepdf.ObjectStreamMode.disable
    pdf.save(output, object_stream_mode=mode, compress_streams=False, static_id=True)
    return output.getvalue()


def attachment(pdf: pikepdf.Pdf, name: str, data: bytes) -> Dictionary:
    stream = pdf.make_indirect(Stream(pdf, data))
    return Dictionary(
        Type=Name.Filespec, F=String(name), UF=String(name), EF=Dictionary(F=stream, UF=stream)
    )


def pdf_with_attachments(files: Mapping[str, bytes]) -> bytes:
    def build(pdf: pikepdf.Pdf) -> None:
        names = Array()
        for name, data in files.items():
            names.extend([String(name), attachment(pdf, name, data)])
        pdf.Root.Names = Dictionary(EmbeddedFiles=Dictionary(Names=names))

    return pdf_with(build)


def pdf_with_specification(edit: Callable[[pikepdf.Pdf, Dictionary], None]) -> bytes:
    """One attachment whose file specification was edited."""

    def build(pdf: pikepdf.Pdf) -> None:
        specification = attachment(pdf, "report.json", b"{}")
        edit(pdf, specification)
        names = Array([String("report.json"), specification])
        pdf.Root.Names = Dictionary(EmbeddedFiles=Dictionary(Names=names))

    return pdf_with(build)


def zeros_deflated(size: int, *, times: int = 1) -> bytes:
    """So many zeros, deflated so many times, made without holding them."""
    state = zlib.compressobj(1)
    pieces = [state.compress(bytes(MIB)) for _ in range(size // MIB)]
    data = b"".join([*pieces, state.flush()])
    for _ in range(times - 1):
        data = zlib.compress(data, 9)
    return data


def deflated_bomb(size: int = 320 * MIB, *, times: int = 1) -> bytes:
    """An attachment that inflates to 320 MiB."""

    def edit(pdf: pikepdf.Pdf, specification: Dictionary) -> None:
        stream = Stream(pdf, zeros_deflated(size, times=times))
        stream.Filter = Name.FlateDecode if times == 1 else Array([Name.FlateDecode] * times)
        reference = pdf.make_indirect(stream)
        specification.EF = Dictionary(F=reference, UF=reference)

    return pdf_with_specification(edit)


def many_bombs() -> bytes:
    """Sixty attachments, each within bounds, that are two gigabytes together."""
    deflated = zeros_deflated(36 * MIB)

    def build(pdf: pikepdf.Pdf) -> None:
        names = Array()
        for number in range(60):
            stream = Stream(pdf, deflated)
            stream.Filter = Name.FlateDecode
            reference = pdf.make_indirect(stream)
            name = String(f"file-{number:02d}")
            names.extend([name, Dictionary(F=name, UF=name, EF=Dictionary(F=reference, UF=reference))])
        pdf.Root.Names = Dictionary(EmbeddedFiles=Dictionary(Names=names))

    return pdf_with(build)


def tree_that_contains_itself() -> bytes:
    def build(pdf: pikepdf.Pdf) -> None:
        node = pdf.make_indirect(Dictionary())
        node.Kids = Array([node, node])
        pdf.Root.Names = Dictionary(EmbeddedFiles=node)

    return pdf_with(build)


def tree_that_doubles() -> bytes:
    """Forty levels of two references to the next: a trillion leaves for who walks them all."""

    def build(pdf: pikepdf.Pdf) -> None:
        node = pdf.make_indirect(Dictionary(Names=Array()))
        for _ in range(40):
            node = pdf.make_indirect(Dictionary(Kids=Array([node, node])))
        pdf.Root.Names = Dictionary(EmbeddedFiles=node)

    return pdf_with(build)


def plain_pdf(objects: Mapping[int, bytes], *, root: int = 1) -> bytes:
    """A PDF of these objects, written by hand."""
    output = bytearray(b"%PDF-1.7\n")
    offsets = {}
    for number, body in objects.items():
        offsets[number] = len(output)
        output += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(output)
    output += b"xref\n0 1\n0000000000 65535 f \n"
    for number, offset in offsets.items():
        output += b"%d 1\n%010d 00000 n \n" % (number, offset)
    size = max(objects) + 1
    output += b"trailer\n<</Size %d/Root %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, root, start)
    return bytes(output)


def deep_nesting(depth: int = 200_000) -> bytes:
    pages = b"<</Type/Pages/Kids[]/Count 0>>"
    names = b"[" * depth + b"]" * depth
    return plain_pdf({1: b"<</Type/Catalog/Pages 2 0 R/Names %b>>" % names, 2: pages})


def many_objects(count: int = 2_000_000) -> bytes:
    """A table of two million objects, none of which is used."""
    head = plain_pdf({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Kids[]/Count 0>>"})
    start = head.rindex(b"xref\n0 1\n")
    table = b"xref\n0 %d\n" % count + b"0000000009 00000 n \n" * count
    end = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (count, start)
    return head[:start] + table + end


def table_stream_bomb() -> bytes:
    """A cross-reference stream that inflates to 320 MiB of entries."""
    data = zeros_deflated(320 * MIB)
    body = b"%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
    start = len(body)
    count = 320 * MIB // 3
    body += b"3 0 obj\n<</Type/XRef/Size %d/W[1 1 1]/Index[0 %d]/Root 1 0 R" % (count, count)
    body += b"/Filter/FlateDecode/Length %d>>\nstream\n" % len(data) + data + b"\nendstream\nendobj\n"
    return body + b"startxref\n%d\n%%%%EOF\n" % start


def object_stream_bomb() -> bytes:
    """The catalogue lies in an object stream that inflates to 320 MiB."""
    data = zeros_deflated(320 * MIB)
    body = b"%PDF-1.7\n"
    at_stream = len(body)
    body += b"2 0 obj\n<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length %d>>\nstream\n" % len(data)
    body += data + b"\nendstream\nendobj\n"
    start = len(body)
    entries = b"".join(
        kind.to_bytes(1, "big") + where.to_bytes(4, "big") + index.to_bytes(2, "big")
        for kind, where, index in [(0, 0, 65535), (2, 2, 0), (1, at_stream, 0), (1, start, 0)]
    )
    body += b"3 0 obj\n<</Type/XRef/Size 4/W[1 4 2]/Root 1 0 R/Length %d>>\nstream\n" % len(entries)
    return body + entries + b"\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n" % start


BOMBS: Mapping[str, Callable[[], bytes]] = {
    "one attachment of 320 MiB": deflated_bomb,
    "an attachment deflated twice": lambda: deflated_bomb(times=2),
    "sixty attachments of two gigabytes": many_bombs,
    "a tree of names that contains itself": tree_that_contains_itself,
    "a tree of names that doubles": tree_that_doubles,
    "lists two hundred thousand deep": deep_nesting,
    "two million objects": many_objects,
    "a table that inflates to 320 MiB": table_stream_bomb,
    "a catalogue that inflates to 320 MiB": object_stream_bomb,
}
