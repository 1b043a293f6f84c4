"""The safetensors container, read and written with the standard library.

Eight bytes hold the length of a JSON header; the header names each tensor's
type, shape and place; the bytes follow. It is small enough to spell out, and
then the reference needs no library and nobody can slip code into a model file.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

# Bytes of one element, for the types that appear here.
_SIZES = {"I8": 1, "F16": 2, "BF16": 2, "F32": 4, "I64": 8}


@dataclass(frozen=True)
class Tensor:
    """Raw little-endian bytes with their type and shape."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview


def read(path: Path) -> dict[str, Tensor]:
    """All tensors of a file whose type is known here. A header that does not
    fit its bytes is an error: a cut download must not become a bad model."""
    whole = memoryview(path.read_bytes())
    if len(whole) < 8:
        raise ValueError(f"{path} is no safetensors file: it has {len(whole)} bytes")
    (length,) = struct.unpack("<Q", whole[:8])
    if length > len(whole) - 8:
        raise ValueError(f"{path} is cut short: its header should have {length} bytes")
    header = json.loads(bytes(whole[8 : 8 + length]))
    body = whole[8 + length :]
    found: dict[str, Tensor] = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in _SIZES:
            continue
        start, end = entry["data_offsets"]
        shape = tuple(entry["shape"])
        size = _SIZES[entry["dtype"]]
        for side in shape:
            size *= side
        if not 0 <= start <= end <= len(body) or end - start != size:
            raise ValueError(f"{path}: tensor {name} does not fit its place; is the file cut short?")
        found[name] = Tensor(entry["dtype"], shape, body[start:end])
    return found


def write(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write the tensors in the order given. The header is padded with spaces
    so that the data starts at a multiple of eight, as readers that map the
    file into memory like it."""
    header: dict[str, object] = {}
    offset = 0
    for name, tensor in tensors.items():
        end = offset + len(tensor.data)
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for tensor in tensors.values():
            file.write(tensor.data)
