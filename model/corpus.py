"""Encodes and samples the training texts.

    python3 -m model.corpus --data DATA --work WORK

reads the texts of DATA, cuts them with WORK/tokenizer.json and leaves arrays
in WORK for the training. README.md says what the files of DATA look like.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Sequence

import numpy as np

from . import recipe as recipes
from .phrases import phrases
from .recipe import Recipe
from .texts import Texts, read, spread
from .tokenizer import Unigram

# The shape of the phrase table: choices a language, pieces a phrase.
_CHOICES, _PHRASE_PIECES = 16, 12


# Encoding


@dataclass
class Encoded:
    """The texts as arrays of pieces. Unused places hold the number of pieces,
    which is the padding row of the student."""

    foreign: np.ndarray  # [pairs, foreign_pieces] int32
    english: np.ndarray  # [English texts, english_pieces] int32
    meaning: np.ndarray  # foreign text -> English text
    language: np.ndarray  # foreign text -> language
    left: np.ndarray
    right: np.ndarray
    source: np.ndarray
    unlabelled: np.ndarray
    phrases: np.ndarray  # [languages + 1, choices, pieces]; the last language is English
    languages: list[str]
    sources: list[str]
    vocabulary: int

    _ARRAYS = ("foreign", "english", "meaning", "language", "left", "right", "source", "unlabelled", "phrases")

    def save(self, work: Path) -> None:
        np.savez(work / "encoded.npz", **{name: getattr(self, name) for name in self._ARRAYS})
        meta = {"languages": self.languages, "sources": self.sources, "vocabulary": self.vocabulary}
        (work / "encoded.json").write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, work: Path) -> "Encoded":
        meta = json.loads((work / "encoded.json").read_text(encoding="utf-8"))
        with np.load(work / "encoded.npz") as arrays:
            return cls(**{name: arrays[name] for name in cls._ARRAYS}, **meta)


def pad(tokenizer: Unigram, width: int, texts: Sequence[str]) -> np.ndarray:
    """The first pieces of each text, padded to a width."""
    table = np.full((len(texts), width), len(tokenizer), np.int32)
    for row, text in zip(table, texts):
        ids = tokenizer.encode(text)[:width]
        row[: len(ids)] = ids
    return table


def pad_all(tokenizer: Unigram, texts: Sequence[str], width: int, processes: int | None) -> np.ndarray:
    tables = spread(partial(pad, tokenizer, width), texts, processes)
    return np.concatenate(tables) if tables else np.empty((0, width), np.int32)


def phrase_table(tokenizer: Unigram, languages: Sequence[str]) -> np.ndarray:
    """The polite phrases of each language as pieces, English last. A language
    with few phrases repeats them; one with none has empty ones."""
    table = np.full((len(languages) + 1, _CHOICES, _PHRASE_PIECES), len(tokenizer), np.int32)
    for number, language in enumerate([*languages, "en"]):
        if spoken := phrases(language):
            chosen = [spoken[i % len(spoken)] for i in range(_CHOICES)]
            table[number] = pad(tokenizer, _PHRASE_PIECES, chosen)
    return table


def encode(texts: Texts, tokenizer: Unigram, recipe: Recipe, processes: int | None = 1) -> Encoded:
    """Cut all texts."""
    return Encoded(
        foreign=pad_all(tokenizer, texts.foreign, recipe.foreign_pieces, processes),
        english=pad_all(tokenizer, texts.english, recipe.english_pieces, processes),
        meaning=np.asarray(texts.meaning, np.int64),
        language=np.asarray(texts.language, np.int64),
        left=np.asarray(texts.left, np.int64),
        right=np.asarray(texts.right, np.int64),
        source=np.asarray(texts.source, np.int64),
        unlabelled=np.asarray(texts.unlabelled, np.int64),
        phrases=phrase_table(tokenizer, list(texts.languages)),
        languages=list(texts.languages),
        sources=list(texts.sources),
        vocabulary=len(tokenizer),
    )


# Sampling


@dataclass(frozen=True)
class Batch:
    """Which texts a step sees, and the phrase each gets: -1 for none."""

    foreign: np.ndarray  # foreign texts
    pair: np.ndarray  # English pairs
    unlabelled: np.ndarray  # English texts
    foreign_phrase: np.ndarray
    meaning_phrase: np.ndarray
    request_phrase: np.ndarray


class Sampler:
    """Draws batches. It uses numpy alone, so that the same seed draws the same
    batches on every device."""

    def __init__(self, encoded: Encoded, recipe: Recipe):
        self._recipe = recipe
        self._chance = np.random.default_rng(recipe.seed)
        self._unlabelled = encoded.unlabelled
        # Foreign texts in the order of their languages, so that a language is a range.
        self._order = np.argsort(encoded.language, kind="stable")
        self._count = np.bincount(encoded.language, minlength=len(encoded.languages))
        self._start = np.cumsum(self._count) - self._count
        self._languages = _ladder(np.where(self._count > 0, self._count.astype(float) ** recipe.language_power, 0.0))
        weight = np.array([recipe.source_weights.get(name, 1.0) for name in encoded.sources])
        self._pairs = _ladder(weight[encoded.source]) if len(encoded.source) else None

    def draw(self) -> Batch:
        recipe, chance = self._recipe, self._chance
        language = self._pick(self._languages, recipe.parallel_batch)
        within = (chance.random(recipe.parallel_batch) * self._count[language]).astype(np.int64)
        pair = self._pick(self._pairs, recipe.english_batch) if self._pairs is not None else np.empty(0, np.int64)
        loose = recipe.unlabelled_batch if len(self._unlabelled) else 0
        return Batch(
            foreign=self._order[self._start[language] + within],
            pair=pair,
            unlabelled=self._unlabelled[chance.integers(0, max(len(self._unlabelled), 1), loose)],
            foreign_phrase=self._phrase(recipe.parallel_batch, recipe.phrase_foreign),
            meaning_phrase=self._phrase(recipe.parallel_batch, recipe.phrase_english),
            request_phrase=self._phrase(len(pair), recipe.phrase_request),
        )

    def _pick(self, ladder: np.ndarray, count: int) -> np.ndarray:
        return np.searchsorted(ladder, self._chance.random(count), side="right")

    def _phrase(self, count: int, chance: float) -> np.ndarray:
        choice = self._chance.integers(0, _CHOICES, count)
        return np.where(self._chance.random(count) < chance, choice, -1)


def _ladder(weights: np.ndarray) -> np.ndarray:
    """Cumulative shares: a uniform number falls on a rung as often as its
    weight says. The last rung is exactly one, so nothing falls off."""
    sums = np.cumsum(weights, dtype=np.float64)
    if not sums[-1] > 0:
        raise ValueError("all weights are zero: nothing can be drawn")
    return sums / sums[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Cut the training texts into pieces.")
    parser.add_argument("--data", type=Path, required=True, help="folder with the training texts")
    parser.add_argument("--work", type=Path, required=True, help="folder with tokenizer.json; the arrays are left there")
    parser.add_argument("--processes", type=int, default=None, help="processes that cut (all cores)")
    recipes.add_arguments(parser, "texts")
    arguments = parser.parse_args()
    recipe = recipes.from_arguments(arguments, recipes.of_work(arguments.work))
    tokenizer = Unigram.load(arguments.work / "tokenizer.json")
    texts = read(arguments.data, recipe)
    print(f"{len(texts.foreign)} parallel pairs in {len(texts.languages)} languages", flush=True)
    print(f"{len(texts.left)} English pairs, {len(texts.english)} English texts", flush=True)
    encoded = encode(texts, tokenizer, recipe, arguments.processes)
    encoded.save(arguments.work)
    (arguments.work / "english.txt").write_text("\n".join(texts.english) + "\n", encoding="utf-8", newline="\n")
    recipe.save(arguments.work / "recipe.json")
    for name in ("foreign", "english"):
        lengths = (getattr(encoded, name) < encoded.vocabulary).sum(1)
        print(f"{name}: {lengths.mean():.1f} pieces a text")


if __name__ == "__main__":
    main()
