"""Continues finished rows on requests that people make for tools.

    python3 -m model.requests --work WORK --data DATA --model FOLDER --out OTHER

DATA holds, besides the training texts:

    requests.tsv   tool id TAB kind TAB language TAB request
    tools.jsonl    {"id", "name", "description", "server"}, one a line

What is learned, and why:

* A request must find its tool among those of the batch and among tools that
  the rows of the moment take for it (mined anew every so often). A tool's
  vector is made as Callgate makes it. Near copies of the right tool are no
  counter-examples: many servers offer the same thing.
* A request must find another request for the same tool. Half of them are in
  other languages, so this teaches languages what no dictionary says.
* The old pairs are asked along, so that nothing is forgotten.

Tools are held out by server, one twentieth of them for choosing and another for
reporting; the requests for them are never seen. --leave-out names a file of further servers,
one a line, such as those of another test set.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from . import export
from . import recipe as recipes
from .corpus import Encoded, Sampler, pad
from .evaluate import Model
from .recipe import Recipe
from .texts import find, open_text
from .tokenizer import Unigram
from .train import _NEVER, Data, Student, contrast, embed, pace

# What Callgate embeds of a tool: so many bytes of its description, and its name
# once more with this weight.
_DESCRIPTION, _NAME_WEIGHT = 2_000, 0.3
# Pieces of a tool's text, of its name and of a request that are read.
_WHOLE_PIECES, _NAME_PIECES, _REQUEST_PIECES = 160, 24, 64
# Of this many shares of the servers one is for choosing and one for reporting.
_SHARES, CHOOSE, REPORT = 20, 0, 1
_BLOCK = 4_000


# Reading


@dataclass
class Requests:
    """Tools and the requests for them, as pieces."""

    whole: np.ndarray
    name: np.ndarray
    request: np.ndarray
    tool: np.ndarray  # request -> tool
    kind: np.ndarray
    share: np.ndarray  # request -> share of its tool's server; -1: left out


def share_of(server: str) -> int:
    """The share a server belongs to: FNV-1a, which needs no library anywhere."""
    value = 2166136261
    for byte in server.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value % _SHARES


def tool_texts(tool: dict[str, str]) -> tuple[str, str]:
    """The texts of a tool that Callgate embeds: the whole, and its name."""
    server = tool.get("server") or ""
    name = f"mcp_{server.rsplit('/', 1)[-1]} {tool['name']}" if server else tool["name"]
    name = name.replace(".", " ")
    description = (tool.get("description") or "").encode()[:_DESCRIPTION].decode(errors="ignore")
    return f"{name}. {description}", name


def read(data: Path, tokenizer: Unigram, leave_out: set[str]) -> Requests:
    with open_text(find(data, "tools.jsonl")) as file:
        tools = [json.loads(line) for line in file if line.strip()]
    number = {tool["id"]: at for at, tool in enumerate(tools)}
    texts, tool, kind, share = [], [], [], []
    with open_text(find(data, "requests.tsv")) as file:
        for line in file:
            name, asked, _, text = line.rstrip("\n").split("\t", 3)
            server = tools[number[name]].get("server") or ""
            texts.append(text)
            tool.append(number[name])
            kind.append(asked)
            share.append(-1 if server in leave_out else share_of(server))
    both = [tool_texts(entry) for entry in tools]
    return Requests(
        whole=pad(tokenizer, _WHOLE_PIECES, [whole for whole, _ in both]),
        name=pad(tokenizer, _NAME_PIECES, [name for _, name in both]),
        request=pad(tokenizer, _REQUEST_PIECES, texts),
        tool=np.asarray(tool),
        kind=np.asarray(kind),
        share=np.asarray(share),
    )


def mates(tool: np.ndarray, learned: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """For each request another one of the same tool, itself where there is none."""
    order = chance.permutation(len(tool))
    order = order[np.argsort(tool[order], kind="stable")]
    order = order[learned[order]]
    other = np.arange(len(tool))
    same = tool[order[1:]] == tool[order[:-1]]
    other[order[:-1][same]] = order[1:][same]
    first = np.flatnonzero(np.r_[True, ~same])
    last = np.r_[first[1:] - 1, len(order) - 1]
    other[order[last]] = order[first]
    return other


# Training


class Asker:
    """The requests and tools on the device, and their vectors by the student."""

    def __init__(self, requests: Requests, student: Student, recipe: Recipe, device: str):
        self._student, self._recipe = student, recipe
        self.whole, self.name, self.request, self.tool = (
            torch.from_numpy(table).to(device) for table in (requests.whole, requests.name, requests.request, requests.tool)
        )

    def _sum(self, ids: torch.Tensor, dropout: float) -> torch.Tensor:
        if dropout:
            kept = ids.masked_fill(torch.rand(ids.shape, device=ids.device) < dropout, self._student.vocabulary)
            empty = (kept < self._student.vocabulary).sum(1, keepdim=True) == 0
            ids = torch.where(empty, ids, kept)
        return F.normalize(self._student(ids), dim=1)

    def asked(self, numbers: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        return self._sum(self.request[numbers], dropout)

    def tools(self, numbers: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        whole, name = self._sum(self.whole[numbers], dropout), self._sum(self.name[numbers], 0)
        return (whole + _NAME_WEIGHT * name) / (1 + _NAME_WEIGHT)

    @torch.no_grad()
    def every_tool(self) -> torch.Tensor:
        numbers = torch.arange(len(self.whole), device=self.whole.device)
        return torch.cat([self.tools(some) for some in numbers.split(_BLOCK)])

    @torch.no_grad()
    def mistaken(self) -> torch.Tensor:
        """For each request the tools that are nearest and wrong."""
        tools = self.every_tool()
        unit = F.normalize(tools, dim=1)
        found = []
        for some in torch.arange(len(self.request), device=tools.device).split(_BLOCK):
            twin = unit[self.tool[some]] @ unit.T > self._recipe.twin
            near = (self.asked(some) @ tools.T).masked_fill(twin, -1)
            found.append(near.topk(min(self._recipe.mistaken, len(tools)), 1)[1])
        return torch.cat(found)

    def loss(self, asked: torch.Tensor, mate: torch.Tensor, wrong: torch.Tensor, scale: float) -> torch.Tensor:
        """The contrast of a batch of requests: with tools, and with other requests."""
        recipe, tool = self._recipe, self.tool[asked]
        queries = self.asked(asked, recipe.request_dropout)
        right, others = self.tools(tool, recipe.tool_dropout), self.tools(wrong, recipe.tool_dropout)
        with torch.no_grad():
            unit = F.normalize(right, dim=1)
            twin = torch.cat([unit @ unit.T, unit @ F.normalize(others, dim=1).T], 1) > recipe.twin
            twin |= torch.cat([tool[:, None] == tool[None], tool[:, None] == wrong[None]], 1)
            twin.fill_diagonal_(False)
        target = torch.arange(len(asked), device=queries.device)
        near = queries @ torch.cat([right, others]).T * scale
        loss = F.cross_entropy(near.masked_fill(twin, _NEVER), target)
        near = (self.asked(mate, recipe.request_dropout) @ queries.T * scale).masked_fill(twin[:, : len(asked)], _NEVER)
        paired = (mate != asked).float()
        return loss + recipe.mate * (F.cross_entropy(near, target, reduction="none") * paired).mean()

    @torch.no_grad()
    def found(self, numbers: np.ndarray, first: int = 5) -> float:
        """The share of requests whose tool is among the first."""
        if not len(numbers):
            return float("nan")
        chosen = torch.from_numpy(numbers).to(self.whole.device)
        near = self.asked(chosen) @ self.every_tool().T
        rank = (near > near.gather(1, self.tool[chosen][:, None])).sum(1)
        return (rank < first).float().mean().item()


def train(rows: np.ndarray, requests: Requests, encoded: Encoded, recipe: Recipe, device: str, report: int = 100) -> np.ndarray:
    """Continue the rows."""
    torch.manual_seed(recipe.seed)
    chance = np.random.default_rng(recipe.seed)
    student = Student(len(rows), rows.shape[1]).to(device)
    with torch.no_grad():
        student.bag.weight[:-1] = torch.from_numpy(rows).to(device)
    data, sampler = Data(encoded, recipe, device), Sampler(encoded, recipe)
    asker = Asker(requests, student, recipe, device)
    learned = requests.share > REPORT
    numbers = np.flatnonzero(learned)
    optimiser = torch.optim.AdamW(student.parameters(), lr=recipe.rate, betas=(0.9, recipe.beta2), weight_decay=0.0)
    scale = 1 / recipe.temperature
    begun = time.monotonic()
    for step in range(recipe.steps):
        if step % recipe.mine_every == 0:
            wrong = asker.mistaken()
            mate = torch.from_numpy(mates(requests.tool, learned, chance)).to(device)
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate * pace(step, recipe)
        asked = torch.from_numpy(chance.choice(numbers, recipe.request_batch)).to(device)
        chosen = torch.from_numpy(chance.integers(0, wrong.shape[1], (len(asked), recipe.hard))).to(device)
        loss = asker.loss(asked, mate[asked], wrong[asked].gather(1, chosen).reshape(-1), scale)
        old = contrast(embed(student, data, sampler.draw()), torch.tensor(scale, device=device), recipe.prefix_weights())
        loss = loss + recipe.remember * old
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if step % report == 0 or step == recipe.steps - 1:
            spent = (time.monotonic() - begun) / (step + 1)
            print(f"step {step} loss {loss.item():.4g} {spent * 1000:.0f} ms a step", flush=True)
    tell(asker, requests)
    return student.bag.weight.detach()[:-1].float().cpu().numpy()


def tell(asker: Asker, requests: Requests) -> None:
    """The share of requests whose tool is among the first five, by kind."""
    for name, share in (("choose", CHOOSE), ("report", REPORT)):
        held = requests.share == share
        line = (f"{kind} {asker.found(np.flatnonzero(held & (requests.kind == kind))):.3f}" for kind in sorted(set(requests.kind)))
        print(f"held out to {name}: {held.sum()} requests;", *line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Continue finished rows on requests for tools.")
    parser.add_argument("--work", type=Path, required=True, help="folder with encoded.npz")
    parser.add_argument("--data", type=Path, required=True, help="folder with requests.tsv and tools.jsonl")
    parser.add_argument("--model", type=Path, required=True, help="model folder to continue")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--leave-out", type=Path, help="file with servers whose tools are not learned, one a line")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to train (a GPU if there is one)")
    recipes.add_arguments(parser, "training", "requests")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    recipe = recipes.from_arguments(arguments, recipes.continued(recipes.of_work(arguments.work)))
    model = Model.load(arguments.model)
    leave_out = set(arguments.leave_out.read_text(encoding="utf-8").split("\n")) if arguments.leave_out else set()
    requests = read(arguments.data, model.tokenizer, leave_out)
    print(f"{len(requests.request)} requests for {len(set(requests.tool))} of {len(requests.whole)} tools", flush=True)
    rows = train(model.rows, requests, Encoded.load(arguments.work), recipe, arguments.device)
    export.write(arguments.out, rows, model.tokenizer, list(recipe.prefix_weights()))
    recipe.save(arguments.out / "recipe.json")


if __name__ == "__main__":
    main()
