"""The exact path from text to vector, standard library only.

    python3 -m model.reference FOLDER

checks FOLDER/golden.json against FOLDER's weights. The Go port must give the
same ids and the same numbers; where the two differ, this file is right.

    python3 -m model.reference FOLDER "some text"

shows the pieces and the first numbers of a text, to compare by hand.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
import sys
from pathlib import Path

from . import tensors
from .normalise import normalise
from .tokenizer import Unigram

# How far a port may be off: golden numbers are rounded to six places, and a
# port may add float32 numbers in another order.
_TOLERANCE = 2e-5


class Reference:
    """A model folder, read without any library."""

    def __init__(self, folder: Path):
        self.tokenizer = Unigram.load(folder / "tokenizer.json")
        stored = tensors.read(folder / "model.safetensors")
        rows, scales = stored["embeddings"], stored["scales"]
        self.count, self.dims = rows.shape
        if rows.dtype != "I8" or scales.dtype != "F32" or scales.shape != (self.count,):
            raise ValueError(f"{folder} does not hold int8 rows with one float32 scale each")
        if self.count != len(self.tokenizer):
            raise ValueError(f"{folder} has {self.count} rows for {len(self.tokenizer)} pieces")
        self._rows, self._scales = rows.data, scales.data

    def embed(self, text: str, dims: int | None = None) -> list[float]:
        """The unit vector of a text. A shorter one is the prefix of the long
        one, brought to unit length by itself."""
        dims = dims or self.dims
        total = [0.0] * dims
        for piece in self.tokenizer.encode(text):
            (scale,) = struct.unpack_from("<f", self._scales, 4 * piece)
            row = struct.unpack_from(f"<{dims}b", self._rows, piece * self.dims)
            for i, value in enumerate(row):
                total[i] += scale * value
        length = math.sqrt(sum(x * x for x in total)) or 1.0
        return [x / length for x in total]


def check(folder: Path) -> list[str]:
    """What golden.json and the reference disagree about; nothing when all is
    well."""
    model = Reference(folder)
    wrong = []
    for entry in json.loads((folder / "golden.json").read_text(encoding="utf-8")):
        text = entry["text"]
        ids = model.tokenizer.encode(text)
        if normalise(text) != entry["norm"]:
            wrong.append(f"{text!r} normalises to {normalise(text)!r}, not {entry['norm']!r}")
        elif ids != entry["ids"]:
            wrong.append(f"{text!r} has the pieces {ids}, not {entry['ids']}")
        elif any(abs(a - b) > _TOLERANCE for a, b in zip(model.embed(text), entry["first8"])):
            wrong.append(f"{text!r} has another vector")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description="Check a model folder against its golden vectors, or show a text.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("text", nargs="?")
    arguments = parser.parse_args()
    if arguments.text is not None:
        model = Reference(arguments.folder)
        for piece in model.tokenizer.encode(arguments.text):
            print(piece, model.tokenizer.pieces[piece][0])
        print(*(f"{x:.6f}" for x in model.embed(arguments.text)[:8]))
        return
    wrong = check(arguments.folder)
    for line in wrong:
        print(line)
    print("golden vectors match" if not wrong else f"{len(wrong)} golden vectors differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
