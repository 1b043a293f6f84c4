"""Words to pieces: a Unigram vocabulary, and how it is trained.

    python3 -m model.tokenizer --data DATA --work WORK

writes WORK/tokenizer.json. The pieces are trained by the `tokenizers`
library; cutting words with them is done here, in plain Python, so that
training sees exactly what the reference and the Go port will see. A word is
cut once and remembered, which makes plain Python fast enough for millions of
texts: the words of a language are few.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import sys
from pathlib import Path
from typing import Iterable, Sequence

from . import recipe as recipes
from .normalise import words
from .texts import find, open_text, read, sample_for_pieces

UNKNOWN = "<unk>"
# What an unknown character costs beyond the rarest piece, so that any piece
# that fits is preferred to spelling in bytes.
_PENALTY = 10.0
# Byte pieces score below every trained piece by this much.
_BYTE_PENALTY = 5.0
# Remembered words; beyond that the memory starts anew.
_REMEMBERED = 2_000_000

Piece = tuple[str, float]


def byte_piece(value: int) -> str:
    return f"<0x{value:02X}>"


class Unigram:
    """Cuts words into the pieces whose scores sum highest."""

    def __init__(self, pieces: Sequence[Piece]):
        self.pieces = list(pieces)
        self._known = {text: (number, score) for number, (text, score) in enumerate(self.pieces)}
        missing = [byte_piece(b) for b in range(256) if byte_piece(b) not in self._known]
        if missing:
            raise ValueError(f"the vocabulary lacks byte pieces such as {missing[0]}: unknown characters could not be spelled")
        self._longest = max(len(text) for text, _ in self.pieces)
        self._unknown = min(score for _, score in self.pieces) - _PENALTY
        self._bytes = [self._known[byte_piece(b)][0] for b in range(256)]
        self._cut: dict[str, tuple[int, ...]] = {}

    @classmethod
    def load(cls, path: Path) -> "Unigram":
        """Read a tokenizer.json, which may be compressed, with the ending that says so."""
        with open_text(find(path.parent, path.name)) as file:
            model = json.load(file)["model"]
        if model["type"] != "Unigram":
            raise ValueError(f"{path} holds a {model['type']} model; only Unigram is read")
        return cls([(text, score) for text, score in model["vocab"]])

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str) -> list[int]:
        """The pieces of a text. A text without words is piece 0, so that every
        text has a vector."""
        cut: list[int] = []
        for word in words(text):
            ids = self._cut.get(word)
            if ids is None:
                if len(self._cut) >= _REMEMBERED:
                    self._cut.clear()
                ids = self._cut[word] = tuple(self.segment(word))
            cut.extend(ids)
        return cut or [0]

    def segment(self, word: str) -> list[int]:
        """Viterbi over one word. Among equal sums the cut found first stays,
        scanning from the left and short pieces first: a port must do the same.
        A character that is no piece by itself may also be spelled in bytes."""
        length = len(word)
        best = [0.0] + [-math.inf] * length
        back: list[tuple[int, int]] = [(0, 0)] * (length + 1)  # where the last piece starts, and which it is; -1: bytes
        for start in range(length):
            alone = False
            for end in range(start + 1, min(length, start + self._longest) + 1):
                known = self._known.get(word[start:end])
                if known is None:
                    continue
                alone |= end == start + 1
                if best[start] + known[1] > best[end]:
                    best[end] = best[start] + known[1]
                    back[end] = (start, known[0])
            if not alone and best[start] + self._unknown > best[start + 1]:
                best[start + 1] = best[start] + self._unknown
                back[start + 1] = (start, -1)
        return self._trace(word, back)

    def _trace(self, word: str, back: list[tuple[int, int]]) -> list[int]:
        groups: list[list[int]] = []
        end = len(word)
        while end > 0:
            start, piece = back[end]
            groups.append([piece] if piece >= 0 else [self._bytes[b] for b in word[start:end].encode()])
            end = start
        return [piece for group in reversed(groups) for piece in group]


def save(pieces: Sequence[Piece], path: Path) -> None:
    """Write the vocabulary in the form the `tokenizers` library reads too. The
    normaliser is not in it: text must pass normalise.py first."""
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [list(piece) for piece in pieces], "byte_fallback": True},
    }
    path.write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")


def with_bytes(pieces: Sequence[Piece]) -> list[Piece]:
    """The trained pieces, which begin with <unk>, with the byte pieces put in
    behind it."""
    if not pieces or pieces[0][0] != UNKNOWN:
        raise ValueError(f"the first piece must be {UNKNOWN}")
    floor = min(score for _, score in pieces) - _BYTE_PENALTY
    return [pieces[0], *((byte_piece(b), floor) for b in range(256)), *pieces[1:]]


def train(sample: Sequence[str], recipe: recipes.Recipe) -> list[Piece]:
    """Train pieces on normalised texts. What comes back may be a few pieces
    short of the vocabulary asked for when the sample is small."""
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    except ImportError:
        sys.exit("training pieces needs the Python package `tokenizers`; or put a finished tokenizer.json into the work folder and skip this step")
    seen = collections.Counter(c for text in sample for c in text if not c.isspace())
    alphabet = [c for c, n in seen.most_common(recipe.alphabet) if n >= recipe.alphabet_count]
    trainer = trainers.UnigramTrainer(
        vocab_size=recipe.vocabulary - 256,
        special_tokens=[UNKNOWN],
        unk_token=UNKNOWN,
        max_piece_length=recipe.piece_length,
        shrinking_factor=0.6,
        n_sub_iterations=2,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    model = Tokenizer(models.Unigram())
    model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    model.train_from_iterator(sample, trainer)
    vocabulary = json.loads(model.to_str())["model"]["vocab"]
    return with_bytes([(text, score) for text, score in vocabulary])


def pieces_per_word(tokenizer: Unigram, texts: Iterable[str]) -> float:
    """How finely texts are cut: a first sign of pieces that do not suit them."""
    cut = count = 0
    for text in texts:
        count += len(words(text))
        cut += len(tokenizer.encode(text))
    return cut / max(count, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the pieces.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the training texts")
    parser.add_argument("--work", type=Path, required=True, help="folder for what the steps leave each other")
    parser.add_argument("--processes", type=int, default=None, help="processes that normalise (all cores)")
    recipes.add_arguments(parser, "pieces", "texts")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    recipe = recipes.from_arguments(arguments, recipes.of_work(arguments.work))
    texts = read(arguments.data, recipe)
    sample = sample_for_pieces(texts, recipe, arguments.processes)
    print(f"{len(sample)} texts, {sum(map(len, sample)) / 1e6:.1f} M characters", flush=True)
    pieces = train(sample, recipe)
    save(pieces, arguments.work / "tokenizer.json")
    recipe.save(arguments.work / "recipe.json")
    rate = pieces_per_word(Unigram(pieces), texts.english[:2000])
    print(f"{len(pieces)} pieces, {rate:.2f} a word of English")


if __name__ == "__main__":
    main()
