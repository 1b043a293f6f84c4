"""Vectors of a larger model for the English texts.

    python3 -m model.teacher --work WORK --teacher FOLDER

reads WORK/english.txt and writes WORK/teacher.npy, one row a text. FOLDER
holds a BERT sentence encoder as it is commonly published: config.json,
model.safetensors and tokenizer.json. The first model learned from gte-small,
33 million parameters, mean pooling.

Any other source of vectors will do: write an array of the same shape, with the
rows in the order of english.txt, and skip this step. Without teacher.npy the
training still runs, on the pairs alone.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from . import tensors

_NUMPY = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


class Layer(nn.Module):
    """One BERT layer: attention, then a feed-forward block, each normalised
    after its residual. The names of its parts are those of published weights."""

    def __init__(self, config: dict):
        super().__init__()
        size, inner, eps = config["hidden_size"], config["intermediate_size"], config.get("layer_norm_eps", 1e-12)
        self.heads = config["num_attention_heads"]
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.attended = nn.Linear(size, size)
        self.attended_norm = nn.LayerNorm(size, eps=eps)
        self.widen = nn.Linear(size, inner)
        self.narrow = nn.Linear(inner, size)
        self.narrow_norm = nn.LayerNorm(size, eps=eps)

    def forward(self, hidden: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        rows, length, size = hidden.shape

        def split(x: torch.Tensor) -> torch.Tensor:
            return x.view(rows, length, self.heads, size // self.heads).transpose(1, 2)

        query, key, value = split(self.query(hidden)), split(self.key(hidden)), split(self.value(hidden))
        weight = (query @ key.transpose(-1, -2) / math.sqrt(size // self.heads) + bias).softmax(-1)
        attended = (weight @ value).transpose(1, 2).reshape(rows, length, size)
        hidden = self.attended_norm(hidden + self.attended(attended))
        return self.narrow_norm(hidden + self.narrow(F.gelu(self.widen(hidden))))


# Parts of a layer -> their names in published weights.
_LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "narrow_norm": "output.LayerNorm",
}
_INPUT_NAMES = {
    "words.weight": "embeddings.word_embeddings.weight",
    "places.weight": "embeddings.position_embeddings.weight",
    "types.weight": "embeddings.token_type_embeddings.weight",
    "norm.weight": "embeddings.LayerNorm.weight",
    "norm.bias": "embeddings.LayerNorm.bias",
}


class Bert(nn.Module):
    """A BERT encoder, mean pooling, unit length. It is written out because it
    is short and because it then runs on any PyTorch."""

    def __init__(self, config: dict):
        super().__init__()
        if config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(f"the activation {config['hidden_act']} is not known here, only gelu")
        if config.get("position_embedding_type", "absolute") != "absolute":
            raise ValueError("only absolute positions are known here")
        size = config["hidden_size"]
        self.size = size
        self.words = nn.Embedding(config["vocab_size"], size)
        self.places = nn.Embedding(config["max_position_embeddings"], size)
        self.types = nn.Embedding(config.get("type_vocab_size", 2), size)
        self.norm = nn.LayerNorm(size, eps=config.get("layer_norm_eps", 1e-12))
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        hidden = self.norm(self.words(ids) + self.places(places) + self.types.weight[0])
        bias = torch.zeros(mask.shape, dtype=hidden.dtype, device=ids.device).masked_fill(mask == 0, -1e4)[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, bias)
        kept = mask[..., None].float()
        return F.normalize((hidden.float() * kept).sum(1) / kept.sum(1), dim=1)

    @classmethod
    def load(cls, folder: Path) -> "Bert":
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        stored = tensors.read(folder / "model.safetensors")
        prefix = "bert." if any(name.startswith("bert.") for name in stored) else ""
        names = dict(_INPUT_NAMES)
        for layer in range(config["num_hidden_layers"]):
            for part, published in _LAYER_NAMES.items():
                for end in ("weight", "bias"):
                    names[f"layers.{layer}.{part}.{end}"] = f"encoder.layer.{layer}.{published}.{end}"
        model = cls(config)
        model.load_state_dict({ours: _tensor(stored, prefix + theirs) for ours, theirs in names.items()})
        return model.eval()


def _tensor(stored: dict[str, tensors.Tensor], name: str) -> torch.Tensor:
    if name not in stored:
        raise ValueError(f"the teacher's weights lack {name}: is it a BERT encoder?")
    found = stored[name]
    if found.dtype == "BF16":  # the upper half of a float32
        wide = np.frombuffer(found.data, np.uint16).astype(np.uint32) << 16
        return torch.from_numpy(wide.view(np.float32).reshape(found.shape).copy())
    return torch.from_numpy(np.frombuffer(found.data, _NUMPY[found.dtype]).reshape(found.shape).astype(np.float32))


class Teacher:
    """A model with its own tokenizer: English texts in, unit vectors out."""

    def __init__(self, folder: Path, device: str, length: int = 128):
        from tokenizers import Tokenizer

        self._cut = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._cut.no_padding()
        self._cut.enable_truncation(length)
        self._device = device
        self._model = Bert.load(folder).to(device)
        if device.startswith("cuda"):
            self._model = self._model.to(torch.bfloat16)

    @torch.no_grad()
    def embed(self, texts: Sequence[str], batch: int = 2048) -> np.ndarray:
        """Texts of like length share a batch, so that little is padding."""
        cut = [row.ids for row in self._cut.encode_batch(list(texts))]
        order = sorted(range(len(cut)), key=lambda i: len(cut[i]))
        vectors = np.zeros((len(cut), self._model.size), np.float32)
        for at in range(0, len(order), batch):
            members = order[at : at + batch]
            width = max(len(cut[i]) for i in members)
            ids = torch.zeros(len(members), width, dtype=torch.long)
            mask = torch.zeros(len(members), width, dtype=torch.long)
            for row, i in enumerate(members):
                ids[row, : len(cut[i])] = torch.tensor(cut[i])
                mask[row, : len(cut[i])] = 1
            vectors[members] = self._model(ids.to(self._device), mask.to(self._device)).cpu().numpy()
        return vectors


def main() -> None:
    parser = argparse.ArgumentParser(description="Ask the teacher for the vectors of the English texts.")
    parser.add_argument("--work", type=Path, required=True, help="folder with english.txt")
    parser.add_argument("--teacher", type=Path, required=True, help="folder of a published BERT sentence encoder")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--length", type=int, default=128, help="pieces of its own that the teacher reads of a text (128)")
    parser.add_argument("--batch", type=int, default=2048, help="texts at once (2048)")
    arguments = parser.parse_args()
    texts = (arguments.work / "english.txt").read_bytes().decode().split("\n")[:-1]
    teacher = Teacher(arguments.teacher, arguments.device, arguments.length)
    # Three texts whose order anyone can check before hours are spent.
    near = teacher.embed(["send an email", "deliver a mail message", "weather forecast"])
    print(f"alike {near[0] @ near[1]:.3f}, unlike {near[0] @ near[2]:.3f}", flush=True)
    vectors = teacher.embed(texts, arguments.batch)
    np.save(arguments.work / "teacher.npy", vectors.astype(np.float16))
    print(f"{vectors.shape[0]} vectors of {vectors.shape[1]}")


if __name__ == "__main__":
    main()
