"""Every number that can be turned, in one place.

The defaults are those of the first shipped model. A run writes its recipe
beside its result, so that a folder of weights always tells how it was made.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Languages of the Latin script whose accents people leave out when they type.
ACCENTED = (
    "fr de es it pt nl pl cs tr vi id sv fi ro hu da no sk sl hr lt lv et ca eu gl is ga cy sq az af ms tl"
)


def _knob(default: Any, why: str) -> Any:
    """A field with a reason, which the command line shows as its help."""
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata={"why": why})
    return field(default=default, metadata={"why": why})


@dataclass(frozen=True)
class Recipe:
    """The hyper-parameters of all steps. Weights of losses are relative."""

    seed: int = _knob(0, "seed of every random choice")

    # Pieces.
    vocabulary: int = _knob(96_000, "number of pieces, <unk> and the 256 bytes included")
    piece_length: int = _knob(16, "longest piece in characters")
    sample_per_language: int = _knob(45_000, "most strings of a language that train the pieces, so that large ones do not crowd out small ones")
    sample_english: int = _knob(2, "how often each English text counts when the pieces are trained")
    alphabet: int = _knob(9_000, "most characters that are pieces of their own whatever their use")
    alphabet_count: int = _knob(6, "a character seen more rarely is spelled in bytes")

    # Texts.
    foreign_pieces: int = _knob(48, "a foreign text is cut after so many pieces")
    english_pieces: int = _knob(64, "an English text is cut after so many pieces")
    unaccented: float = _knob(0.06, "share of accented pairs that are also added without accents")
    accented: str = _knob(ACCENTED, "languages to which that applies")

    # Batches.
    parallel_batch: int = _knob(6_144, "parallel pairs (foreign, English) a step")
    english_batch: int = _knob(4_096, "English pairs (request or name, description) a step")
    unlabelled_batch: int = _knob(1_024, "unlabelled English requests a step, for distillation only")
    language_power: float = _knob(0.6, "a language of n pairs is drawn with weight n to this power")
    source_weights: dict[str, float] = _knob(
        {"clinc150": 0.5, "sealtools-dev": 8.0, "toolalpaca-q": 10.0, "toolalpaca-fn": 5.0},
        "weight of one English pair by its source, as JSON; 1 where unnamed",
    )
    phrase_foreign: float = _knob(0.25, "chance that a foreign text gets a polite phrase")
    phrase_english: float = _knob(0.10, "chance that the English side of a parallel pair gets one")
    phrase_request: float = _knob(0.30, "chance that the request of an English pair gets one")
    dropout: float = _knob(0.1, "chance that a piece is left out of a text")

    # Student.
    dims: int = _knob(256, "length of a row")
    prefixes: str = _knob("256:1 128:0.6 64:0.4", "prefix lengths that must work alone, each with the weight of its loss")
    temperature: float = _knob(0.05, "first temperature of the contrast; it is learned")
    sharpest: float = _knob(60.0, "largest inverse temperature")

    # Losses.
    cosine: float = _knob(2.0, "weight of the distance to the teacher's vectors")
    similarity: float = _knob(1.0, "weight of the divergence from the teacher's similarities")
    similarity_scale: float = _knob(20.0, "inverse temperature of those similarities")
    similarity_parallel: int = _knob(1_024, "parallel pairs of a batch that take part in them")
    similarity_prefix: int = _knob(64, "prefix that must show those similarities too; 0 for none")

    # Optimiser.
    steps: int = _knob(3_116, "optimiser steps")
    rate: float = _knob(4e-3, "learning rate of the rows")
    head_rate: float = _knob(1e-3, "learning rate of projection and temperature")
    head_decay: float = _knob(0.01, "weight decay of the projection; the rows have none")
    beta2: float = _knob(0.98, "second moment of AdamW; the first is 0.9")
    warmup: int = _knob(200, "steps of linear warm-up; then a cosine down to a hundredth")

    # Requests for tools, on which finished rows are continued.
    request_batch: int = _knob(2_048, "requests a step")
    request_dropout: float = _knob(0.25, "chance that a piece is left out of a request: values and names must not carry it")
    tool_dropout: float = _knob(0.15, "chance that a piece is left out of a tool's text")
    hard: int = _knob(4, "tools a request that it is taken for, as counter-examples")
    mistaken: int = _knob(24, "how many such tools of a request are known")
    mine_every: int = _knob(200, "steps after which they are looked for anew")
    twin: float = _knob(0.9, "tools this similar are the same thing, and no counter-examples to each other")
    mate: float = _knob(1.0, "weight of the contrast between requests for the same tool")
    remember: float = _knob(1.0, "weight of the old pairs beside the requests")

    def prefix_weights(self) -> dict[int, float]:
        """Prefix lengths that fit into a row, with the weight of each."""
        pairs = (entry.split(":") for entry in self.prefixes.split())
        fitting = {int(length): float(weight) for length, weight in pairs if int(length) <= self.dims}
        return fitting or {self.dims: 1.0}

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Recipe":
        return cls(**json.loads(path.read_text(encoding="utf-8")))


# Which step a field belongs to: the first of a step's fields, in their order.
_STEPS = {"pieces": "vocabulary", "texts": "foreign_pieces", "training": "parallel_batch", "requests": "request_batch"}


def add_arguments(parser: argparse.ArgumentParser, *steps: str) -> None:
    """Give the parser one option for each field of the recipe that belongs to
    the steps ("pieces", "texts", "training", "requests"), and for the seed. An option that
    is not given leaves the recipe as it stands."""
    first = {name: step for step, name in _STEPS.items()}
    current = ""
    for knob in dataclasses.fields(Recipe):
        current = first.get(knob.name, current)
        if current and current not in steps:
            continue
        standard = getattr(Recipe(), knob.name)
        parse = json.loads if isinstance(standard, dict) else type(standard)
        shown = json.dumps(standard) if isinstance(standard, dict) else standard
        why = knob.metadata["why"].replace("%", "%%")
        parser.add_argument(f"--{knob.name.replace('_', '-')}", dest=knob.name, type=parse, help=f"{why} ({shown})")


def from_arguments(arguments: argparse.Namespace, base: Recipe) -> Recipe:
    """The base recipe with what the command line says in its place."""
    given = {
        knob.name: value
        for knob in dataclasses.fields(Recipe)
        if (value := getattr(arguments, knob.name, None)) is not None
    }
    return dataclasses.replace(base, **given)


def of_work(work: Path) -> Recipe:
    """The recipe that earlier steps left in the work folder, or the standard
    one: so a number given to one step is known to the next."""
    kept = work / "recipe.json"
    return Recipe.load(kept) if kept.exists() else Recipe()


def continued(base: Recipe) -> Recipe:
    """A recipe for rows that are finished and shall learn more without forgetting:
    small steps and few. Requests of a set that will judge the result are not looked at."""
    return dataclasses.replace(
        base,
        parallel_batch=4_096,
        english_batch=1_024,
        unlabelled_batch=0,
        source_weights={**base.source_weights, "sealtools-dev": 0.0},
        temperature=0.06,
        steps=1_000,
        rate=3e-4,
        beta2=0.99,
        warmup=50,
    )
