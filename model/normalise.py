"""Text to words: the one normaliser.

Training, evaluation, the reference and the Go port all cut text the same way,
so this file is a specification. A change here asks for new pieces, new rows
and a new port; golden.json of an exported model shows when two versions part.

The law, in order:

1. NFKC.
2. ASCII camelCase is split: ``aB`` and ``9B`` between, ``HTTPServer`` before
   the last capital of a run.
3. Lower case, one character at a time. Context never counts (a final sigma
   stays an ordinary one), and U+0130 becomes a plain ``i``, so that the result
   does not depend on a locale.
4. Characters of the categories P, Z and C end a word and are dropped. Symbols
   (``+``, ``<``, emoji) stay.
5. A change between scripts written without spaces and all others ends a word.
6. Words of spaced scripts get U+2581 in front, which lets a piece know that it
   begins a word. In scripts without spaces nobody knows where words begin.
"""

from __future__ import annotations

import re
import unicodedata

WORD_START = "\u2581"

# Scripts written without spaces, as closed ranges of code points.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic iteration mark, closing mark and zero
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x20000, 0x3134F),  # Han, extensions B to G
)

_LOWER_THEN_UPPER = re.compile(r"([a-z0-9])([A-Z])")
_UPPER_THEN_WORD = re.compile(r"([A-Z])([A-Z][a-z])")


def unspaced(character: str) -> bool:
    """Whether the character belongs to a script written without spaces."""
    point = ord(character)
    return any(low <= point <= high for low, high in _UNSPACED)


def _lower(text: str) -> str:
    return "".join("i" if c == "\u0130" else c.lower() for c in text)


def words(text: str) -> list[str]:
    """Cut a text into words, as the law at the head of this file says."""
    text = unicodedata.normalize("NFKC", text)
    text = _LOWER_THEN_UPPER.sub(r"\1 \2", text)
    text = _UPPER_THEN_WORD.sub(r"\1 \2", text)
    found: list[str] = []
    word, kind = "", False
    for character in _lower(text) + " ":  # the space ends the last word
        ends = unicodedata.category(character)[0] in "PZC"
        its = unspaced(character)
        if word and (ends or its != kind):
            found.append(word if kind else WORD_START + word)
            word = ""
        if not ends:
            word += character
            kind = its
    return found


def normalise(text: str) -> str:
    """The words of a text with single spaces between, as a trainer of pieces
    wants them."""
    return " ".join(words(text))


def strip_accents(text: str) -> str:
    """The text without combining marks: how people type when in a hurry. Only
    the training uses it, to make such spellings known."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
