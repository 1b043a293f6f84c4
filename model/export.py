"""Rows to the folder that Callgate reads.

    python3 -m model.export --work WORK --out FOLDER

writes model.safetensors (int8 rows, one float32 scale each), tokenizer.json,
config.json and golden.json. Rows are stored in eight bits because a sum of
some ten rows hides the rounding, and a quarter of the size is a quarter of
what everyone downloads.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from . import recipe as recipes
from . import tensors
from .normalise import normalise
from .tokenizer import Unigram, save

# Texts that a port is checked with: many scripts, case, camelCase, symbols,
# full-width forms, a character without a piece.
GOLDEN = (
    "send an email to Bob",
    "getUserHTTPRequest_v2",
    "Create a calendar event for tomorrow at 3pm",
    "list_files",
    "read file.txt from disk",
    "Search the web for news",
    "delete database table",
    "take a screenshot of the web page",
    "convert PDF to Word",
    "Wie ist das Wetter in Berlin?",
    "E-Mail senden",
    "Datei löschen",
    "Ouvre le fichier PDF s'il te plaît",
    "envoyer un courriel",
    "supprimer un événement du calendrier",
    "crear una nueva tabla en la base de datos",
    "buscar en la web",
    "enviar mensaje",
    "inviare un'email",
    "cancella il file",
    "apagar o arquivo",
    "zoek op internet",
    "wyślij wiadomość e-mail",
    "odeslat e-mail",
    "отправить письмо",
    "удалить файл",
    "видалити файл",
    "e-posta gönder İSTANBUL",
    "إرسال بريد إلكتروني",
    "حذف الملف",
    "שלח אימייל",
    "ارسال ایمیل",
    "ईमेल भेजें",
    "发送电子邮件",
    "打开 file文件を開く",
    "刪除檔案",
    "メールを送信する",
    "ファイルを削除",
    "이메일 보내기",
    "파일 삭제",
    "gửi thư điện tử",
    "ส่งอีเมล",
    "ลบไฟล์",
    "kirim surel",
    "skicka e-post",
    "lähetä sähköposti",
    "αποστολή email ΣΑΣ",
    "trimite un e-mail",
    "e-mail küldése",
    "C++ & 50% 🙂 🧿 ｆｕｌｌ",
)


def quantise(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows as int8 with a scale each: row = int8 * scale. An empty row keeps a
    tiny scale, so that nobody divides by zero."""
    if not np.isfinite(rows).all():
        raise ValueError("some rows are not finite: the training went astray")
    scales = (np.maximum(np.abs(rows).max(1), 1e-9) / 127).astype(np.float32)
    small = np.clip(np.rint(rows / scales[:, None]), -127, 127).astype(np.int8)
    return small, scales


def golden(tokenizer: Unigram, small: np.ndarray, scales: np.ndarray) -> list[dict[str, object]]:
    """What a port must give for the golden texts."""
    entries = []
    for text in GOLDEN:
        ids = tokenizer.encode(text)
        vector = (small[ids].astype(np.float64) * scales[ids].astype(np.float64)[:, None]).sum(0)
        vector /= np.linalg.norm(vector) or 1.0
        first = [round(float(x), 6) for x in vector[:8]]
        entries.append({"text": text, "norm": normalise(text), "ids": ids, "first8": first})
    return entries


def config(vocabulary: int, dims: int, prefixes: list[int]) -> dict[str, object]:
    return {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": dims,
        "vocab_size": vocabulary,
        "normalize": True,
        "dtype": "int8 rows, per-row float32 scale",
        "matryoshka_dims": prefixes,
        "pooling": "sum (weights folded into rows), then L2",
        "apply_zipf": False,
        "seq_length": 1000000,
        "note": "text must pass the normaliser (model/normalise.py) before tokenizer.json (Unigram, byte_fallback)",
    }


def write(out: Path, rows: np.ndarray, tokenizer: Unigram, prefixes: list[int]) -> None:
    """Write the folder. Rows are named by their pieces' numbers, so there must
    be as many."""
    if len(rows) != len(tokenizer):
        raise ValueError(f"{len(rows)} rows for {len(tokenizer)} pieces: the rows belong to another tokenizer")
    out.mkdir(parents=True, exist_ok=True)
    small, scales = quantise(rows)
    parts = {
        "embeddings": tensors.Tensor("I8", small.shape, small.tobytes()),
        "scales": tensors.Tensor("F32", scales.shape, scales.astype("<f4").tobytes()),
    }
    tensors.write(out / "model.safetensors", parts)
    save(tokenizer.pieces, out / "tokenizer.json")
    described = config(*rows.shape, prefixes)
    (out / "config.json").write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    entries = golden(tokenizer, small, scales)
    (out / "golden.json").write_text(json.dumps(entries, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the folder that Callgate reads.")
    parser.add_argument("--work", type=Path, required=True, help="folder with rows.npy and tokenizer.json")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()
    recipe = recipes.of_work(arguments.work)
    rows = np.load(arguments.work / "rows.npy")
    write(arguments.out, rows, Unigram.load(arguments.work / "tokenizer.json"), list(recipe.prefix_weights()))
    recipe.save(arguments.out / "recipe.json")
    print(f"{rows.shape[0]} rows of {rows.shape[1]} in {arguments.out}")


if __name__ == "__main__":
    main()
