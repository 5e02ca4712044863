"""Texts within PNG pictures, Parquet tables and pages, which go where these go: how they were made.

A picture has a chunk for it, a page a block of data, and a table bytes between its data and its
footer, which readers pass over as they go by the footer's offsets.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# An international text with this keyword, compressed, without language or translation.
KIND, HEAD = b"iTXt", b"narrows\0\1\0\0\0"
# What a Parquet file begins and ends with; before the end is the footer's length.
PARQUET, TAIL = b"PAR1", 8
# What a table's text ends with, before which is its length.
END = b"narrows\1"
BEGIN_BLOCK, END_BLOCK = b'<script type="application/json" id="narrows-made">', b"</script>"
# A text that is larger is not read: no scenario and no record of one is.
LARGEST_TEXT = 64 << 20
# Files with these endings hold a text.
ENDINGS = (".png", ".parquet", ".html")


def stamped(contents: bytes, text: str) -> bytes:
    """Return a picture, table or page that holds a text, instead of one that it may hold.

    Examples
    --------
    >>> import narrows.plot as plot
    >>> picture = stamped(plot.png(plot.panels()[0]), "made here")
    >>> stamp_of(picture), stamp_of(stamped(picture, "and there")), stamped(b"GIF", "x")
    ('made here', 'and there', b'GIF')
    >>> stamp_of(stamped(b"<html><body></body></html>", "</script> in a page"))
    '</script> in a page'
    """
    if contents.startswith(SIGNATURE):
        return _picture(contents, text)
    if _is_table(contents):
        begin, end = _place(contents)
        packed = zlib.compress(text.encode())
        stamp = packed + struct.pack("<I", len(packed)) + END
        return contents[:begin] + stamp + contents[end:]
    if _is_page(contents):
        begin, end = _block(contents)
        # So written, nothing in it ends the block.
        told = json.dumps(text).replace("<", "\\u003c").encode()
        return contents[:begin] + BEGIN_BLOCK + told + END_BLOCK + contents[end:]
    return contents


def stamp_of(contents: bytes) -> str | None:
    """Return the text that a picture, table or page holds; None if it holds none."""
    if contents.startswith(SIGNATURE):
        return next((text for text in map(_text, _chunks(contents)) if text is not None), None)
    if _is_table(contents):
        begin, end = _place(contents)
        return _unpacked(contents[begin : end - len(END) - 4]) if end > begin else None
    if _is_page(contents):
        begin, end = _block(contents)
        try:
            told = json.loads(contents[begin + len(BEGIN_BLOCK) : end - len(END_BLOCK)])
        except (ValueError, RecursionError):
            return None
        return told if isinstance(told, str) else None
    return None


def may_hold(beginning: bytes) -> bool:
    """Return whether a file that begins so may hold a text."""
    return beginning.startswith((SIGNATURE, PARQUET)) or _is_page(beginning)


def _picture(picture: bytes, text: str) -> bytes:
    first, *others = [*_chunks(picture)] or [b""]
    if not first:
        return picture
    body = HEAD + zlib.compress(text.encode())
    stamp = struct.pack(">I", len(body)) + KIND + body + struct.pack(">I", zlib.crc32(KIND + body))
    return SIGNATURE + b"".join([first, stamp, *(it for it in others if _text(it) is None)])


def _chunks(picture: bytes) -> Iterator[bytes]:
    """Yield the chunks after the signature: each a length, a kind, a body and a checksum."""
    at = len(SIGNATURE)
    while at + 12 <= len(picture):
        (length,) = struct.unpack_from(">I", picture, at)
        yield picture[at : at + 12 + length]
        at += 12 + length


def _text(chunk: bytes) -> str | None:
    kind, body = chunk[4:8], chunk[8:-4]
    if kind != KIND or not body.startswith(HEAD):
        return None
    return _unpacked(body.removeprefix(HEAD))


def _unpacked(packed: bytes) -> str | None:
    try:
        return zlib.decompressobj().decompress(packed, LARGEST_TEXT).decode()
    except (zlib.error, UnicodeDecodeError):
        return None


def _is_table(contents: bytes) -> bool:
    is_whole = len(contents) >= len(PARQUET) + TAIL and contents.endswith(PARQUET)
    return contents.startswith(PARQUET) and is_whole and _footer(contents) >= len(PARQUET)


def _footer(table: bytes) -> int:
    """Return where a table's footer begins."""
    (length,) = struct.unpack_from("<I", table, len(table) - TAIL)
    return len(table) - TAIL - int(length)


def _place(table: bytes) -> tuple[int, int]:
    """Return where a table's text begins and ends, which is before the footer."""
    end = _footer(table)
    if not table[:end].endswith(END) or end < len(PARQUET) + len(END) + 4:
        return end, end
    (length,) = struct.unpack_from("<I", table, end - len(END) - 4)
    begin = end - len(END) - 4 - int(length)
    return (begin, end) if begin >= len(PARQUET) else (end, end)


def _is_page(contents: bytes) -> bool:
    return contents.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))


def _block(page: bytes) -> tuple[int, int]:
    """Return where a page's block begins and ends: before the end of its body if there is none."""
    begin = page.rfind(BEGIN_BLOCK)
    if begin >= 0 and (end := page.find(END_BLOCK, begin)) >= 0:
        return begin, end + len(END_BLOCK)
    place = page.rfind(b"</body>")
    place = len(page) if place < 0 else place
    return place, place
