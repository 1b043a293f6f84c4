"""Reads the training texts of a folder, standard library only.

README.md says what the files of the folder look like.
"""

from __future__ import annotations

import gzip
import io
import itertools
import lzma
import multiprocessing
import random
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from .normalise import normalise, strip_accents
from .recipe import Recipe

# The number of texts that a worker is handed at once.
_CHUNK = 50_000


@dataclass
class Texts:
    """The training texts. English texts are held once and named by number."""

    english: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    meaning: list[int] = field(default_factory=list)  # foreign text -> English text
    language: list[int] = field(default_factory=list)  # foreign text -> language
    languages: dict[str, int] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)  # English pair -> its request or name
    right: list[int] = field(default_factory=list)  # English pair -> its description
    source: list[int] = field(default_factory=list)  # English pair -> source
    sources: dict[str, int] = field(default_factory=dict)
    unlabelled: list[int] = field(default_factory=list)  # English texts


def open_text(path: Path) -> io.TextIOBase:
    """Open a text file that may be compressed. For .zst the zstd program is
    used, because Python below 3.14 has no such module of its own."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8", newline="\n")
    if path.suffix == ".zst":
        if not shutil.which("zstd"):
            raise FileNotFoundError(f"reading {path.name} needs the program zstd; or unpack the file yourself")
        with path.open("rb") as packed:  # by handle: the program passes over links
            unpacked = subprocess.run(["zstd", "-dcq"], stdin=packed, check=True, stdout=subprocess.PIPE).stdout
        return io.TextIOWrapper(io.BytesIO(unpacked), encoding="utf-8", newline="\n")
    return path.open(encoding="utf-8", newline="\n")


def find(folder: Path, name: str, needed: bool = True) -> Path | None:
    """The file of that name, plain or compressed."""
    for ending in ("", ".gz", ".xz", ".zst"):
        path = folder / (name + ending)
        if path.exists():
            return path
    if needed:
        raise FileNotFoundError(f"{folder} has no {name} (nor .gz, .xz, .zst)")
    return None


def rows(path: Path, columns: int) -> Iterator[list[str]]:
    """The lines of a tab-separated file. A line with too few columns is an
    error, told with its number: silently dropped data is found too late."""
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            cells = line.rstrip("\n").split("\t", columns - 1)
            if len(cells) < columns:
                raise ValueError(f"{path.name}:{number}: {columns} tab-separated columns wanted, {len(cells)} found")
            yield cells


def read_groups(path: Path) -> Iterator[tuple[str, str, str]]:
    """Parallel texts: (language, foreign, English). A line marked ``=`` gives
    the English that the lines below it mean."""
    english: str | None = None
    for mark, text in rows(path, 2):
        if mark == "=":
            english = text
        elif english is None:
            raise ValueError(f"{path.name}: a {mark} line before the first English one")
        else:
            yield mark, text, english


def read(data: Path, recipe: Recipe) -> Texts:
    """Read all training files of a folder. Only corpus.tsv must be there."""
    texts = Texts()
    number: dict[str, int] = {}

    def named(text: str) -> int:
        if text not in number:
            number[text] = len(texts.english)
            texts.english.append(text)
        return number[text]

    for language, foreign, english in read_groups(find(data, "corpus.tsv")):
        texts.meaning.append(named(english))
        texts.language.append(texts.languages.setdefault(language, len(texts.languages)))
        texts.foreign.append(foreign)
    if (pairs := find(data, "pairs_en.tsv", needed=False)) is not None:
        for source, left, right in rows(pairs, 3):
            texts.left.append(named(left))
            texts.right.append(named(right))
            texts.source.append(texts.sources.setdefault(source, len(texts.sources)))
    if (loose := find(data, "unl.tsv", needed=False)) is not None:
        texts.unlabelled = [named(text) for _, text in rows(loose, 2)]
    add_unaccented(texts, recipe)
    return texts


def add_unaccented(texts: Texts, recipe: Recipe) -> None:
    """Add some pairs a second time without accents."""
    chance = random.Random(recipe.seed)
    touched = {texts.languages[code] for code in recipe.accented.split() if code in texts.languages}
    for i in range(len(texts.foreign)):
        if texts.language[i] not in touched or chance.random() >= recipe.unaccented:
            continue
        plain = strip_accents(texts.foreign[i])
        if plain != texts.foreign[i]:
            texts.foreign.append(plain)
            texts.meaning.append(texts.meaning[i])
            texts.language.append(texts.language[i])


def spread(work: Callable[[Sequence[str]], Any], texts: Sequence[str], processes: int | None) -> list[Any]:
    """Map over chunks of texts on all cores. Few texts stay in this process,
    where errors read better and nothing is copied."""
    chunks = [texts[i : i + _CHUNK] for i in range(0, len(texts), _CHUNK)]
    if processes == 1 or len(chunks) < 2:
        return [work(chunk) for chunk in chunks]
    with multiprocessing.Pool(processes) as pool:
        return pool.map(work, chunks, chunksize=1)


def _normalised(texts: Sequence[str]) -> list[str]:
    return [normalise(text) for text in texts]


def sample_for_pieces(texts: Texts, recipe: Recipe, processes: int | None) -> list[str]:
    """Normalised texts to train pieces on: every language up to a limit, and
    English more than once, because every search meets English tools."""
    chance = random.Random(recipe.seed + 1)
    by_language: dict[int, list[int]] = defaultdict(list)
    for i, language in enumerate(texts.language):
        by_language[language].append(i)
    chosen: list[str] = []
    for members in by_language.values():
        count = min(len(members), recipe.sample_per_language)
        chosen += [texts.foreign[i] for i in chance.sample(members, count)]
    foreign = itertools.chain.from_iterable(spread(_normalised, chosen, processes))
    english = itertools.chain.from_iterable(spread(_normalised, texts.english, processes))
    return [*foreign, *(list(english) * recipe.sample_english)]
