"""Improves finished rows in closed form, without training.

    python3 -m model.temper --work WORK --model FOLDER --out OTHER

Two things are wrong with rows as they come from the training, and both can be
set right by looking at the training pairs once:

* Texts that mean the same still differ, and they differ much more in some
  directions than in others: those of politeness, of language, of style. Such
  directions carry noise, so they are made shorter, by a power of how much the
  two sides of a pair differ there. (Speech research calls it within-class
  covariance normalisation.) The map is symmetric and near to one, so prefixes
  of a vector still work.
* All texts lean to one side, which makes everything look alike. A part of the
  mean row is taken from every row. All of it would be too much: short and long
  texts then lean to opposite sides.

Both numbers lie on a plateau. For the first model every power from 0.25 to 0.7
and every part from none to all was better than the rows as trained, on the
tool sets and across languages; a power of 1 began to cost languages.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import export
from . import recipe as recipes
from .corpus import Encoded, Sampler
from .evaluate import Model
from .recipe import Recipe


def unit_sums(rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Unit vectors of padded texts."""
    padded = np.vstack([rows, np.zeros((1, rows.shape[1]), rows.dtype)])
    total = np.zeros((len(ids), rows.shape[1]), np.float32)
    for column in ids.T:
        total += padded[column]
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)


def disagreement(rows: np.ndarray, encoded: Encoded, recipe: Recipe, batches: int) -> np.ndarray:
    """How the two sides of a pair differ, as a matrix of second moments.
    Parallel and English pairs count the same, however many there are."""
    sampler = Sampler(encoded, recipe)
    sums = [np.zeros((rows.shape[1],) * 2) for _ in range(2)]
    for _ in range(batches):
        batch = sampler.draw()
        sides = (
            (encoded.foreign[batch.foreign], encoded.english[encoded.meaning[batch.foreign]]),
            (encoded.english[encoded.left[batch.pair]], encoded.english[encoded.right[batch.pair]]),
        )
        for total, (left, right) in zip(sums, sides):
            apart = unit_sums(rows, left) - unit_sums(rows, right)
            total += apart.T @ apart / max(len(apart), 1)
    return (sums[0] + sums[1]) / batches


def shortening(apart: np.ndarray, power: float) -> np.ndarray:
    """The symmetric map that divides each direction by a power of the spread
    there. Directions without any spread are not made endless."""
    spread, directions = np.linalg.eigh(apart)
    spread = np.maximum(spread / spread.mean(), 1e-3)
    return (directions * spread ** (-power / 2)) @ directions.T


def mean_row(rows: np.ndarray, encoded: Encoded) -> np.ndarray:
    """The mean over all pieces of all texts."""
    seen = np.zeros(len(rows) + 1)
    for table in (encoded.foreign, encoded.english):
        seen += np.bincount(table.ravel(), minlength=len(seen))
    return (seen[:-1] @ rows) / seen[:-1].sum()


def temper(rows: np.ndarray, encoded: Encoded, recipe: Recipe, power: float, centre: float, batches: int) -> np.ndarray:
    """Better rows. Their length as a whole stays what it was, though nothing
    depends on it."""
    turned = (rows @ shortening(disagreement(rows, encoded, recipe, batches), power)).astype(np.float32)
    turned -= centre * mean_row(turned, encoded).astype(np.float32)
    return turned * (np.linalg.norm(rows) / np.linalg.norm(turned))


def main() -> None:
    parser = argparse.ArgumentParser(description="Improve finished rows without training.")
    parser.add_argument("--work", type=Path, required=True, help="folder with the encoded pairs")
    parser.add_argument("--model", type=Path, required=True, help="model folder to begin with; its pieces must be those of the encoded pairs")
    parser.add_argument("--out", type=Path, required=True, help="model folder to write")
    parser.add_argument("--power", type=float, default=0.5, help="how strongly noisy directions are made shorter (0.5)")
    parser.add_argument("--centre", type=float, default=0.5, help="which part of the mean row is taken away (0.5)")
    parser.add_argument("--batches", type=int, default=40, help="batches of pairs to look at (40)")
    parser.add_argument("--leave-out", default="", help="sources of English pairs not to look at, such as sets that will judge the result")
    arguments = parser.parse_args()
    recipe = recipes.of_work(arguments.work)
    recipe = replace(recipe, source_weights={**recipe.source_weights, **{name: 0.0 for name in arguments.leave_out.split()}})
    encoded, model = Encoded.load(arguments.work), Model.load(arguments.model)
    if encoded.vocabulary != len(model.tokenizer):
        raise SystemExit(f"the pairs are cut into {encoded.vocabulary} pieces, the model knows {len(model.tokenizer)}: encode them with its tokenizer.json")
    rows = temper(model.rows, encoded, recipe, arguments.power, arguments.centre, arguments.batches)
    prefixes = [length for length in recipe.prefix_weights() if length <= rows.shape[1]]
    export.write(arguments.out, rows, model.tokenizer, prefixes)
    print(f"{rows.shape[0]} rows of {rows.shape[1]} in {arguments.out}")


if __name__ == "__main__":
    main()
