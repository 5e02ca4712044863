"""Texts within PNG pictures, which go where the pictures go: how they were made."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# An international text with this keyword, compressed, without language or translation.
KIND, HEAD = b"iTXt", b"narrows\0\1\0\0\0"
# A text that is larger is not read: no scenario and no record of one is.
LARGEST_TEXT = 64 << 20


def stamped(picture: bytes, text: str) -> bytes:
    """Return a PNG picture that holds a text, instead of one that it may hold; others stay.

    Examples
    --------
    >>> import narrows.plot as plot
    >>> picture = stamped(plot.png(plot.panels()[0]), "made here")
    >>> stamp_of(picture), stamp_of(stamped(picture, "and there")), stamped(b"GIF", "x")
    ('made here', 'and there', b'GIF')
    """
    if not picture.startswith(SIGNATURE):
        return picture
    first, *others = _chunks(picture)
    body = HEAD + zlib.compress(text.encode())
    stamp = struct.pack(">I", len(body)) + KIND + body + struct.pack(">I", zlib.crc32(KIND + body))
    return SIGNATURE + b"".join([first, stamp, *(it for it in others if _text(it) is None)])


def stamp_of(picture: bytes) -> str | None:
    """Return the text that a PNG picture holds; None if there is none, or it is no such picture."""
    if not picture.startswith(SIGNATURE):
        return None
    return next((text for text in map(_text, _chunks(picture)) if text is not None), None)


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
    try:
        return zlib.decompressobj().decompress(body.removeprefix(HEAD), LARGEST_TEXT).decode()
    except (zlib.error, UnicodeDecodeError):
        return None
