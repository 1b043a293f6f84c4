"""Learns the rows.

    python3 -m model.train --work WORK

reads what the earlier steps left in WORK and writes WORK/rows.npy, one float
row a piece, and WORK/training.json, the course of the losses.

What is learned, and why:

* Contrast (InfoNCE, both ways): a foreign text must find its English among all
  of the batch, and a request its description. It is asked of prefixes of the
  row too, so that a short vector can be cut from a long one.
* Distance to the teacher: pairs say which texts belong together, the teacher
  also says how near all others are. The student's vector, turned by a learned
  projection, must point where the teacher's points.
* Divergence from the teacher's similarities: the same, said about the order of
  the answers within a batch, which is what a search is.

The same seed gives the same run on a CPU. On a GPU sums are added in no fixed
order, so two runs differ in their last digits.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from . import recipe as recipes
from .corpus import Batch, Encoded, Sampler
from .recipe import Recipe

# Masked similarities: far below any cosine times the sharpest scale.
_NEVER = -1e4
# Texts summed at once while the first rows are made.
_BLOCK = 200_000


class Student(nn.Module):
    """One row a piece; a text is the sum of its rows. The last row is padding
    and stays zero."""

    def __init__(self, vocabulary: int, dims: int):
        super().__init__()
        self.vocabulary = vocabulary
        self.bag = nn.EmbeddingBag(vocabulary + 1, dims, mode="sum", padding_idx=vocabulary)
        nn.init.normal_(self.bag.weight, std=0.05)
        with torch.no_grad():
            self.bag.weight[vocabulary] = 0

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.bag(ids)


class Data:
    """The encoded texts on the device, and the texts of a batch with their
    phrases and without their dropped pieces."""

    def __init__(self, encoded: Encoded, recipe: Recipe, device: str):
        self._recipe = recipe
        self._padding = encoded.vocabulary
        self._english_speech = len(encoded.languages)
        self.foreign = torch.from_numpy(encoded.foreign).to(device)
        self.english = torch.from_numpy(encoded.english).to(device)
        self.meaning = torch.from_numpy(encoded.meaning).to(device)
        self.language = torch.from_numpy(encoded.language).to(device)
        self.left = torch.from_numpy(encoded.left).to(device)
        self.right = torch.from_numpy(encoded.right).to(device)
        self._phrases = torch.from_numpy(encoded.phrases).to(device)
        self._device = device

    def place(self, numbers: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self._device)

    def disturbed(self, ids: torch.Tensor, language: torch.Tensor | None = None, phrase: np.ndarray | None = None) -> torch.Tensor:
        """Leave out pieces at random and put phrases in front. A text that
        would lose all its pieces keeps them. No language means English."""
        dropped = torch.rand(ids.shape, device=self._device) < self._recipe.dropout
        kept = ids.masked_fill(dropped, self._padding)
        empty = (kept < self._padding).sum(1, keepdim=True) == 0
        kept = torch.where(empty, ids, kept)
        if phrase is None:
            return kept
        if language is None:
            language = torch.full((len(ids),), self._english_speech, device=self._device)
        choice = self.place(phrase)
        spoken = self._phrases[language, choice.clamp(min=0)]
        return torch.cat([spoken.masked_fill((choice < 0)[:, None], self._padding), kept], 1)


@dataclass
class Vectors:
    """A batch as the student sees it. Rows of queries and keys belong
    together; the parallel pairs come first."""

    queries: torch.Tensor
    keys: torch.Tensor
    loose: torch.Tensor
    query_text: torch.Tensor  # the English text that each means
    key_text: torch.Tensor
    loose_text: torch.Tensor
    parallel: int  # how many pairs are parallel


def embed(student: Student, data: Data, batch: Batch) -> Vectors:
    foreign, pair, loose = data.place(batch.foreign), data.place(batch.pair), data.place(batch.unlabelled)
    meaning, left, right = data.meaning[foreign], data.left[pair], data.right[pair]
    asked = data.disturbed(data.foreign[foreign], data.language[foreign], batch.foreign_phrase)
    meant = data.disturbed(data.english[meaning], None, batch.meaning_phrase)
    request = data.disturbed(data.english[left], None, batch.request_phrase)
    described = data.disturbed(data.english[right])
    return Vectors(
        queries=torch.cat([student(asked), student(request)]),
        keys=torch.cat([student(meant), student(described)]),
        loose=student(data.disturbed(data.english[loose])),
        query_text=torch.cat([meaning, left]),
        key_text=torch.cat([meaning, right]),
        loose_text=loose,
        parallel=len(meaning),
    )


def contrast(vectors: Vectors, scale: torch.Tensor, prefixes: dict[int, float]) -> torch.Tensor:
    """Symmetric InfoNCE at each prefix. A pair whose text appears elsewhere in
    the batch is no counter-example there, so it is masked."""
    same = vectors.key_text[:, None] == vectors.key_text[None]
    same |= vectors.query_text[:, None] == vectors.query_text[None]
    same.fill_diagonal_(False)
    target = torch.arange(len(same), device=same.device)
    loss = torch.zeros((), device=same.device)
    for length, weight in prefixes.items():
        queries = F.normalize(vectors.queries[:, :length], dim=1)
        keys = F.normalize(vectors.keys[:, :length], dim=1)
        if queries.is_cuda:  # half the memory, several times the speed, no worse a model
            queries, keys = queries.bfloat16(), keys.bfloat16()
        near = ((queries @ keys.T).float() * scale).masked_fill(same, _NEVER)
        loss = loss + weight * 0.5 * (F.cross_entropy(near, target) + F.cross_entropy(near.T, target))
    return loss


def teacher_distance(vectors: Vectors, projection: nn.Linear, teacher: torch.Tensor) -> torch.Tensor:
    """How far the projected vectors point from the teacher's. The teacher
    knows English only; a foreign text is held to the vector of its meaning."""
    ours = torch.cat([vectors.queries, vectors.keys, vectors.loose])
    theirs = teacher[torch.cat([vectors.query_text, vectors.key_text, vectors.loose_text])]
    ours = F.normalize(projection(F.normalize(ours, dim=1)), dim=1)
    return (1 - (ours * theirs).sum(1)).mean()


def teacher_divergence(vectors: Vectors, teacher: torch.Tensor, recipe: Recipe) -> torch.Tensor:
    """How much the order of answers within the batch departs from the
    teacher's: requests and some foreign texts against descriptions."""
    split, some = vectors.parallel, slice(0, min(recipe.similarity_parallel, vectors.parallel))
    queries = torch.cat([vectors.queries[split:], vectors.loose, vectors.queries[some]])
    query_text = torch.cat([vectors.query_text[split:], vectors.loose_text, vectors.query_text[some]])
    keys = torch.cat([vectors.keys[split:], vectors.keys[some]])
    key_text = torch.cat([vectors.key_text[split:], vectors.key_text[some]])
    target = F.softmax(teacher[query_text] @ teacher[key_text].T * recipe.similarity_scale, 1)
    loss = torch.zeros((), device=queries.device)
    lengths = {recipe.dims, recipe.similarity_prefix} - {0}
    for length in sorted(length for length in lengths if length <= recipe.dims):
        near = F.normalize(queries[:, :length], dim=1) @ F.normalize(keys[:, :length], dim=1).T
        loss = loss + F.kl_div(F.log_softmax(near * recipe.similarity_scale, 1), target, reduction="batchmean")
    return loss


@torch.no_grad()
def start_from_teacher(student: Student, data: Data, teacher: torch.Tensor, recipe: Recipe) -> None:
    """Give each piece the mean of the teacher's vectors of the texts it occurs
    in, brought to the length of a row, common pieces shorter than rare ones.
    The training then begins with a model that is already fair."""
    principal = torch.linalg.svd(teacher.T @ teacher)[0][:, : recipe.dims]
    brief = F.pad(teacher @ principal, (0, recipe.dims - principal.shape[1]))
    sums = torch.zeros_like(student.bag.weight)
    seen = torch.zeros(len(sums), device=sums.device)
    own = torch.arange(len(data.english), device=sums.device)
    for table, text in ((data.english, own), (data.foreign, data.meaning)):
        for at in range(0, len(table), _BLOCK):
            ids, vectors = table[at : at + _BLOCK].long(), brief[text[at : at + _BLOCK]]
            share = 1 / (ids < student.vocabulary).sum(1).clamp(min=1).float()
            for column in ids.T:
                sums.index_add_(0, column, vectors * share[:, None])
                seen.index_add_(0, column, share)
    sums, seen = sums[:-1], seen[:-1]
    mean = sums / (seen[:, None] + 2)
    mean -= (mean * seen[:, None]).sum(0) / seen.sum()
    rarity = (1e-4 / (1e-4 + seen / seen.sum())).clamp(min=0.02)
    rows = F.normalize(mean, dim=1) * (0.3 + rarity[:, None]) * 0.5 * (seen[:, None] > 0)
    student.bag.weight[:-1] = rows + torch.randn_like(rows) * 0.01


def pace(step: int, recipe: Recipe) -> float:
    """The share of the learning rate at a step: warm-up, then a cosine."""
    warm = min(1.0, (step + 1) / max(recipe.warmup, 1))
    return warm * (0.99 * 0.5 * (1 + math.cos(math.pi * step / recipe.steps)) + 0.01)


def train(encoded: Encoded, teacher: np.ndarray | None, recipe: Recipe, device: str, report: int = 100) -> tuple[np.ndarray, list[dict[str, float]]]:
    """Train the rows. Returns them with the course of the losses."""
    torch.manual_seed(recipe.seed)
    data, sampler = Data(encoded, recipe, device), Sampler(encoded, recipe)
    student = Student(encoded.vocabulary, recipe.dims).to(device)
    log_scale = nn.Parameter(torch.tensor(-math.log(recipe.temperature), device=device))
    heads: list[nn.Parameter] = [log_scale]
    lesson = projection = None
    if teacher is not None:
        lesson = torch.from_numpy(teacher.astype(np.float32)).to(device)
        lesson = F.normalize(lesson - lesson.mean(0), dim=1)
        start_from_teacher(student, data, lesson, recipe)
        projection = nn.Linear(recipe.dims, lesson.shape[1], bias=False).to(device)
        heads += list(projection.parameters())
    optimiser = torch.optim.AdamW(
        [{"params": list(student.parameters()), "weight_decay": 0.0}, {"params": heads, "weight_decay": recipe.head_decay}],
        lr=recipe.rate,
        betas=(0.9, recipe.beta2),
    )
    course: list[dict[str, float]] = []
    begun = time.monotonic()
    for step in range(recipe.steps):
        share = pace(step, recipe)
        for group, rate in zip(optimiser.param_groups, (recipe.rate, recipe.head_rate)):
            group["lr"] = rate * share
        vectors = embed(student, data, sampler.draw())
        scale = log_scale.exp().clamp(max=recipe.sharpest)
        losses = {"contrast": contrast(vectors, scale, recipe.prefix_weights())}
        loss = losses["contrast"]
        if lesson is not None and projection is not None:
            losses["distance"] = teacher_distance(vectors, projection, lesson)
            losses["divergence"] = teacher_divergence(vectors, lesson, recipe)
            loss = loss + recipe.cosine * losses["distance"] + recipe.similarity * losses["divergence"]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if step % report == 0 or step == recipe.steps - 1:
            line = {"step": step, "loss": loss.item(), **{name: value.item() for name, value in losses.items()}, "scale": scale.item()}
            course.append(line)
            spent = (time.monotonic() - begun) / (step + 1)
            print(*(f"{name} {value:.4g}" for name, value in line.items()), f"{spent * 1000:.0f} ms a step", flush=True)
    return student.bag.weight.detach()[:-1].float().cpu().numpy(), course


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the rows.")
    parser.add_argument("--work", type=Path, required=True, help="folder with encoded.npz and, for distillation, teacher.npy")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to train (a GPU if there is one)")
    parser.add_argument("--report", type=int, default=100, help="steps between two lines of losses (100)")
    recipes.add_arguments(parser, "training")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    recipe = recipes.from_arguments(arguments, recipes.of_work(arguments.work))
    encoded = Encoded.load(arguments.work)
    vectors = arguments.work / "teacher.npy"
    teacher = np.load(vectors) if vectors.exists() else None
    if teacher is None:
        print("no teacher.npy: training on the pairs alone")
    elif len(teacher) != len(encoded.english):
        raise SystemExit(f"teacher.npy has {len(teacher)} rows for {len(encoded.english)} English texts: make it anew")
    rows, course = train(encoded, teacher, recipe, arguments.device, arguments.report)
    np.save(arguments.work / "rows.npy", rows)
    (arguments.work / "training.json").write_text(json.dumps(course, indent=1) + "\n", encoding="utf-8")
    recipe.save(arguments.work / "recipe.json")


if __name__ == "__main__":
    main()
