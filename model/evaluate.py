"""How good a model folder is, and whether it beats another.

    python3 -m model.evaluate FOLDER [OTHER] --heldout heldout.tsv --sets DIR [DIR ...]

Two questions are asked.

Across languages: of the held-out foreign texts of a language, how many have
their own English nearest among at most a thousand (accuracy@1)?

Tool search: over a folder with tools.jsonl {id, name, description},
queries.jsonl {id, text} and qrels.jsonl {query, tool, rel?}, how good are the
first ten answers (nDCG@10)? An answer's score is the cosine of the query with
name and description, plus 0.3 times its cosine with the name alone. This is
the model by itself; Callgate adds a lexical score, so these numbers say
whether a model is better, not how good the search is.

With OTHER every number is shown for both, with the difference and how often it
keeps its sign when the queries are drawn again (bootstrap). A difference that
keeps it less than 95 times in a hundred is chance until shown otherwise.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Sequence

import numpy as np

from . import tensors
from .texts import read_groups
from .tokenizer import Unigram

NAME_WEIGHT = 0.3
_DEPTH = 10
_REDRAWS = 2_000
# Queries compared with a catalogue at once.
_BLOCK = 512


class Model:
    """A model folder with rows ready to be summed."""

    def __init__(self, rows: np.ndarray, tokenizer: Unigram):
        self.rows = rows.astype(np.float32)
        self.tokenizer = tokenizer

    @classmethod
    def load(cls, folder: Path) -> "Model":
        stored = tensors.read(folder / "model.safetensors")
        small, scales = stored["embeddings"], stored["scales"]
        rows = np.frombuffer(small.data, np.int8).reshape(small.shape).astype(np.float32)
        rows *= np.frombuffer(scales.data, "<f4")[:, None]
        return cls(rows, Unigram.load(folder / "tokenizer.json"))

    def embed(self, texts: Sequence[str], dims: int | None = None) -> np.ndarray:
        """Unit vectors, one a text."""
        cut = [self.tokenizer.encode(text) for text in texts]
        return self.embed_pieces(cut, dims)

    def embed_pieces(self, cut: Sequence[Sequence[int]], dims: int | None = None) -> np.ndarray:
        vectors = np.zeros((len(cut), dims or self.rows.shape[1]), np.float32)
        for row, ids in zip(vectors, cut):
            row += self.rows[list(ids), : vectors.shape[1]].sum(0)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


# Across languages


@dataclass(frozen=True)
class Language:
    """Held-out texts of one language with their English."""

    name: str
    foreign: list[str]
    english: list[str]


def read_heldout(path: Path, most: int = 1_000) -> list[Language]:
    """The held-out texts by language. English is distinct within a language,
    so that one answer is right; the first `most` count, in the file's order."""
    found: dict[str, dict[str, str]] = {}
    for language, foreign, english in read_groups(path):
        pairs = found.setdefault(language, {})
        if len(pairs) < most:
            pairs.setdefault(english, foreign)
    return [Language(name, list(pairs.values()), list(pairs)) for name, pairs in sorted(found.items())]


def translation_hits(model: Model, language: Language, dims: int | None = None) -> np.ndarray:
    """For each foreign text 1 where its own English is nearest."""
    near = model.embed(language.foreign, dims) @ model.embed(language.english, dims).T
    return (near.argmax(1) == np.arange(len(near))).astype(float)


# Tool search


@dataclass(frozen=True)
class ToolSet:
    """A catalogue with queries and, for each query, the right tools' worth."""

    name: str
    names: list[str]
    described: list[str]  # name and description
    queries: list[str]
    gold: list[dict[int, float]]  # query -> tool -> relevance


def _lines(path: Path) -> Iterable[dict]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def read_set(folder: Path) -> ToolSet:
    """Read a set in the common form. Queries without a right answer are left
    out."""
    tools = list(_lines(folder / "tools.jsonl"))
    number = {tool["id"]: i for i, tool in enumerate(tools)}
    worth: dict[str, dict[int, float]] = {}
    for line in _lines(folder / "qrels.jsonl"):
        relevance = float(line.get("rel", 1))
        if relevance > 0 and line["tool"] in number:
            worth.setdefault(line["query"], {})[number[line["tool"]]] = relevance
    queries = [q for q in _lines(folder / "queries.jsonl") if q["id"] in worth]
    return ToolSet(
        name=folder.name,
        names=[tool["name"] for tool in tools],
        described=[f"{tool['name']} {tool.get('description') or ''}" for tool in tools],
        queries=[q["text"] for q in queries],
        gold=[worth[q["id"]] for q in queries],
    )


def ndcg(scores: np.ndarray, gold: dict[int, float], depth: int = _DEPTH) -> float:
    """Gain is relevance, discount the logarithm of the place. Among equal
    scores the tool that comes first in the catalogue is first."""
    discount = 1 / np.log2(np.arange(2, depth + 2))
    first = np.argsort(-scores, kind="stable")[:depth]
    gain = sum(gold.get(int(tool), 0.0) * d for tool, d in zip(first, discount))
    ideal = sum(worth * d for worth, d in zip(sorted(gold.values(), reverse=True), discount))
    return gain / ideal


def search_gains(model: Model, tools: ToolSet, dims: int | None = None) -> np.ndarray:
    """nDCG@10 of each query."""
    described, names = model.embed(tools.described, dims), model.embed(tools.names, dims)
    queries = model.embed(tools.queries, dims)
    gains = []
    for at in range(0, len(queries), _BLOCK):
        block = queries[at : at + _BLOCK]
        scores = block @ described.T + NAME_WEIGHT * (block @ names.T)
        gains += [ndcg(row, gold) for row, gold in zip(scores, tools.gold[at : at + _BLOCK])]
    return np.array(gains)


# Comparing


def same_sign(a: np.ndarray, b: np.ndarray, seed: int = 0) -> float:
    """How often the mean difference keeps its sign when the queries are drawn
    again. One half is pure chance, one is certain."""
    difference = b - a
    if not difference.any():
        return 0.5
    chance = np.random.default_rng(seed)
    drawn = np.array([difference[chance.integers(0, len(difference), len(difference))].mean() for _ in range(_REDRAWS)])
    return float((np.sign(drawn) == np.sign(difference.mean())).mean())


def show(title: str, results: list[tuple[str, list[np.ndarray]]]) -> dict[str, list[float]]:
    """Print a table, a line a name, and the mean over the lines."""
    if not results:
        return {}
    print(f"\n{title}")
    for name, scores in results:
        print(f"  {name:18} {len(scores[0]):6}", *_compared(scores))
    means = np.array([[s.mean() for s in scores] for _, scores in results])
    print(f"  {'mean':18} {len(results):6}", *_compared(list(means.T)))
    return {name: [float(s.mean()) for s in scores] for name, scores in results}


def _compared(scores: list[np.ndarray]) -> list[str]:
    cells = [f"{s.mean():.4f}" for s in scores]
    if len(scores) == 2:
        cells += [f"{scores[1].mean() - scores[0].mean():+.4f}", f"{same_sign(*scores):.0%}"]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a model folder, or compare two.")
    parser.add_argument("folder", type=Path, help="model folder")
    parser.add_argument("other", type=Path, nargs="?", help="a second one to compare with the first")
    parser.add_argument("--heldout", type=Path, help="held-out parallel texts, in the form of corpus.tsv")
    parser.add_argument("--sets", type=Path, nargs="*", default=[], help="folders of tool-search sets; those without queries are passed over")
    parser.add_argument("--dims", type=int, help="use only so long a prefix of the vectors")
    parser.add_argument("--json", type=Path, help="also write the means here")
    arguments = parser.parse_args()
    models = [Model.load(folder) for folder in (arguments.folder, arguments.other) if folder]
    report: dict[str, dict[str, list[float]]] = {}
    if arguments.heldout:
        languages = read_heldout(arguments.heldout)
        hits = [(one.name, [translation_hits(m, one, arguments.dims) for m in models]) for one in languages]
        report["heldout"] = show("held-out texts, accuracy@1", hits)
    sets = [read_set(folder) for folder in arguments.sets if (folder / "queries.jsonl").exists()]
    gains = [(one.name, [search_gains(m, one, arguments.dims) for m in models]) for one in sets]
    report["sets"] = show("tool search, nDCG@10", gains)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
