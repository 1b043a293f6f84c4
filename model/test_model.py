"""Tests of the training program, in seconds.

    python3 -m unittest model.test_model

Numpy must be there; what needs PyTorch is skipped where it is absent.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib.util
import io
import itertools
import json
import lzma
import math
import random
import tempfile
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import corpus, evaluate, export, recipe, reference, temper, tensors
from .normalise import normalise, strip_accents, words
from .recipe import Recipe
from .texts import read, sample_for_pieces
from .tokenizer import UNKNOWN, Piece, Unigram, byte_piece, save, with_bytes

TORCH = importlib.util.find_spec("torch") is not None

# A language in which every word of English has one other word.
TOY = {
    "open": "aufmachen", "close": "schliessen", "file": "datei", "window": "fenster", "send": "senden",
    "mail": "post", "read": "lesen", "table": "tabelle", "delete": "löschen", "picture": "bild",
}  # fmt: skip


def toy_pieces() -> list[Piece]:
    """All letters and all words of the toy language."""
    letters = sorted({c for word in [*TOY, *TOY.values()] for c in word} | {"\u2581"})
    whole = ["\u2581" + word for word in [*TOY, *TOY.values()]]
    return with_bytes([(UNKNOWN, 0.0), *((c, -8.0) for c in letters), *((w, -6.0) for w in whole)])


def toy_data(folder: Path) -> None:
    """Training files: every two words together, in both languages."""
    lines, pairs = [], []
    for a, b in itertools.permutations(TOY, 2):
        lines += [f"=\t{a} {b}", f"xx\t{TOY[a]} {TOY[b]}"]
        pairs.append(f"toy\t{a}_{b}\t{a} the {b}")
    (folder / "corpus.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "pairs_en.tsv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    (folder / "unl.tsv").write_text("toy\topen the mail\n", encoding="utf-8")


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)


class Normaliser(unittest.TestCase):
    def test_words(self) -> None:
        cases = {
            "plain": ("Send mail", ["▁send", "▁mail"]),
            "snake case": ("list_files", ["▁list", "▁files"]),
            "camel case": ("getUserName", ["▁get", "▁user", "▁name"]),
            "run of capitals": ("getHTTPServer2Go", ["▁get", "▁http", "▁server2", "▁go"]),
            "dotless and dotted i": ("İSTANBUL ılık", ["▁istanbul", "▁ılık"]),
            "final sigma is an ordinary one": ("ΣΑΣ", ["▁σασ"]),
            "full width": ("ｆｕｌｌ", ["▁full"]),
            "ligature": ("ﬁle", ["▁file"]),
            "symbols stay, punctuation goes": ("C++ & 50%!", ["▁c++", "▁50"]),
            "scripts without spaces have no mark": ("打开file文件", ["打开", "▁file", "文件"]),
            "kana and han are one kind": ("ファイルを削除", ["ファイルを削除"]),
            "thai keeps its vowels": ("ส่งอีเมล", ["ส่งอีเมล"]),
            "control characters part": ("a\u200bb\x00c", ["▁a", "▁b", "▁c"]),
            "nothing": ("", []),
            "only punctuation": ("...!", []),
        }
        for name, (text, wanted) in cases.items():
            with self.subTest(name):
                self.assertEqual(words(text), wanted)

    def test_once_is_enough(self) -> None:
        for text in export.GOLDEN:
            plain = normalise(text).replace("▁", "")
            self.assertEqual(normalise(plain), normalise(text), text)

    def test_strip_accents(self) -> None:
        self.assertEqual(strip_accents("löschen événement"), "loschen evenement")


class Viterbi(unittest.TestCase):
    def test_sum_beats_length(self) -> None:
        cut = Unigram(with_bytes([(UNKNOWN, 0.0), ("abc", -9.0), ("d", -9.0), ("ab", -2.0), ("cd", -2.0)]))
        self.assertEqual([cut.pieces[i][0] for i in cut.segment("abcd")], ["ab", "cd"])

    def test_unknown_is_spelled_in_bytes(self) -> None:
        cut = Unigram(with_bytes([(UNKNOWN, 0.0), ("a", -1.0)]))
        self.assertEqual([cut.pieces[i][0] for i in cut.segment("aéa")], ["a", byte_piece(0xC3), byte_piece(0xA9), "a"])

    def test_first_of_equals_stays(self) -> None:
        cut = Unigram(with_bytes([(UNKNOWN, 0.0), ("a", -1.0), ("aa", -2.0)]))
        self.assertEqual([cut.pieces[i][0] for i in cut.segment("aaa")], ["a", "aa"])

    def test_text_without_words_is_piece_zero(self) -> None:
        self.assertEqual(Unigram(toy_pieces()).encode(" ... "), [0])

    def test_vocabulary_without_bytes_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "byte pieces"):
            Unigram([(UNKNOWN, 0.0), ("a", -1.0)])

    def test_no_cut_is_better(self) -> None:
        chance = random.Random(7)
        pieces = {"".join(chance.choices("abc", k=chance.randint(1, 4))): -chance.random() * 9 for _ in range(30)}
        pieces |= {c: -chance.random() * 9 for c in "abc"}
        cut = Unigram(with_bytes([(UNKNOWN, 0.0), *pieces.items()]))
        for _ in range(200):
            word = "".join(chance.choices("abc", k=chance.randint(1, 8)))
            ours = sum(cut.pieces[i][1] for i in cut.segment(word))
            self.assertAlmostEqual(ours, self.exhaustive(word, pieces), msg=word)

    def exhaustive(self, word: str, pieces: dict[str, float]) -> float:
        """The best sum over all ways to cut."""
        best = -math.inf
        for cuts in itertools.product([False, True], repeat=len(word) - 1):
            bounds = [0, *(i + 1 for i, here in enumerate(cuts) if here), len(word)]
            parts = [word[a:b] for a, b in zip(bounds, bounds[1:])]
            if all(part in pieces for part in parts):
                best = max(best, sum(pieces[part] for part in parts))
        return best


class Tensors(Folder):
    def test_round_trip(self) -> None:
        path = self.folder / "x.safetensors"
        tensors.write(path, {"a": tensors.Tensor("I8", (2, 3), b"abcdef"), "b": tensors.Tensor("F32", (1,), b"1234")})
        found = tensors.read(path)
        self.assertEqual({name: (t.dtype, t.shape, bytes(t.data)) for name, t in found.items()},
                         {"a": ("I8", (2, 3), b"abcdef"), "b": ("F32", (1,), b"1234")})  # fmt: skip

    def test_cut_file_is_refused(self) -> None:
        path = self.folder / "x.safetensors"
        tensors.write(path, {"a": tensors.Tensor("I8", (2, 3), b"abcdef")})
        whole = path.read_bytes()
        for length in (0, 7, 20, len(whole) - 1):
            path.write_bytes(whole[:length])
            with self.subTest(length), self.assertRaises(ValueError):
                tensors.read(path)


class Reading(Folder):
    def setUp(self) -> None:
        super().setUp()
        toy_data(self.folder)

    def test_toy(self) -> None:
        texts = read(self.folder, replace(Recipe(), unaccented=0.0))
        self.assertEqual((len(texts.foreign), len(texts.left), list(texts.languages)), (90, 90, ["xx"]))
        self.assertEqual(texts.english[texts.meaning[0]], "open close")
        self.assertEqual(texts.foreign[0], "aufmachen schliessen")
        self.assertEqual(texts.english[texts.unlabelled[0]], "open the mail")
        self.assertEqual(len(set(texts.english)), len(texts.english))

    def test_compressed_files_are_read(self) -> None:
        plain = (self.folder / "corpus.tsv").read_bytes()
        (self.folder / "corpus.tsv").unlink()
        for ending, pack in ((".gz", gzip.compress), (".xz", lzma.compress)):
            path = self.folder / ("corpus.tsv" + ending)
            path.write_bytes(pack(plain))
            with self.subTest(ending):
                self.assertEqual(len(read(self.folder, Recipe()).languages), 1)
            path.unlink()
        with self.assertRaises(FileNotFoundError):
            read(self.folder, Recipe())

    def test_bad_line_is_told_with_its_number(self) -> None:
        (self.folder / "corpus.tsv").write_text("=\topen\nno tab here\n", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "corpus.tsv:2"):
            read(self.folder, Recipe())

    def test_translation_without_english_is_refused(self) -> None:
        (self.folder / "corpus.tsv").write_text("de\töffnen\n", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "before the first English"):
            read(self.folder, Recipe())

    def test_some_accents_are_left_out(self) -> None:
        texts = read(self.folder, replace(Recipe(), unaccented=1.0, accented="xx"))
        added = texts.foreign[90:]
        self.assertEqual(len(added), 18)  # the pairs with the one accented word
        self.assertTrue(all("loschen" in text for text in added))

    def test_pieces_see_small_languages_whole(self) -> None:
        settings = replace(Recipe(), unaccented=0.0, sample_per_language=10, sample_english=2)
        texts = read(self.folder, settings)
        self.assertEqual(len(sample_for_pieces(texts, settings, 1)), 10 + 2 * len(texts.english))


class Sampling(Folder):
    SETTINGS = replace(Recipe(), unaccented=0.0, parallel_batch=4000, english_batch=50, unlabelled_batch=5)

    def encoded(self) -> corpus.Encoded:
        lines = ["=\topen"] + ["de\tdatei"] * 16 + ["xx\tfenster"]
        (self.folder / "corpus.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (self.folder / "pairs_en.tsv").write_text("often\topen\tclose\nnever\tread\ttable\n", encoding="utf-8")
        return corpus.encode(read(self.folder, self.SETTINGS), Unigram(toy_pieces()), self.SETTINGS)

    def test_languages_are_drawn_by_the_power_of_their_size(self) -> None:
        encoded = self.encoded()
        batch = corpus.Sampler(encoded, replace(self.SETTINGS, language_power=0.5)).draw()
        drawn = Counter(encoded.languages[i] for i in encoded.language[batch.foreign])
        self.assertAlmostEqual(drawn["de"] / drawn["xx"], 4.0, delta=0.6)

    def test_source_weights(self) -> None:
        encoded = self.encoded()
        batch = corpus.Sampler(encoded, replace(self.SETTINGS, source_weights={"never": 0.0})).draw()
        self.assertEqual({encoded.sources[i] for i in encoded.source[batch.pair]}, {"often"})

    def test_same_seed_same_batches(self) -> None:
        encoded = self.encoded()
        a, b, other = (corpus.Sampler(encoded, replace(self.SETTINGS, seed=s)).draw().foreign for s in (3, 3, 4))
        np.testing.assert_array_equal(a, b)
        self.assertTrue((a != other).any())

    def test_phrases_come_as_often_as_asked(self) -> None:
        batch = corpus.Sampler(self.encoded(), self.SETTINGS).draw()
        self.assertAlmostEqual((batch.foreign_phrase >= 0).mean(), self.SETTINGS.phrase_foreign, delta=0.03)

    def test_phrase_table_speaks_the_language(self) -> None:
        encoded = self.encoded()
        spoken = (encoded.phrases < encoded.vocabulary).any(axis=(1, 2))
        self.assertEqual(dict(zip([*encoded.languages, "en"], spoken)), {"de": True, "xx": False, "en": True})

    def test_saved_and_loaded(self) -> None:
        encoded = self.encoded()
        encoded.save(self.folder)
        again = corpus.Encoded.load(self.folder)
        np.testing.assert_array_equal(again.foreign, encoded.foreign)
        self.assertEqual((again.languages, again.vocabulary), (encoded.languages, encoded.vocabulary))


class Recipes(Folder):
    def test_command_line_changes_only_what_it_names(self) -> None:
        parser = argparse.ArgumentParser()
        recipe.add_arguments(parser, "training")
        given = parser.parse_args(["--steps", "7", "--source-weights", '{"a": 2}'])
        self.assertEqual(recipe.from_arguments(given, Recipe()), replace(Recipe(), steps=7, source_weights={"a": 2}))
        self.assertFalse(hasattr(given, "vocabulary"))

    def test_saved_and_loaded(self) -> None:
        changed = replace(Recipe(), dims=64, rate=0.1)
        changed.save(self.folder / "recipe.json")
        self.assertEqual(recipe.of_work(self.folder), changed)
        self.assertEqual(changed.prefix_weights(), {64: 0.4})


class Export(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.tokenizer = Unigram(toy_pieces())
        self.rows = np.random.default_rng(1).normal(size=(len(self.tokenizer), 16)).astype(np.float32)
        export.write(self.folder, self.rows, self.tokenizer, [16])

    def test_reference_agrees(self) -> None:
        self.assertEqual(reference.check(self.folder), [])
        ours = reference.Reference(self.folder).embed("open the löschen 打")
        theirs = evaluate.Model.load(self.folder).embed(["open the löschen 打"])[0]
        np.testing.assert_allclose(ours, theirs, atol=1e-6)

    def test_prefix_is_of_unit_length(self) -> None:
        short = reference.Reference(self.folder).embed("open file", 4)
        self.assertEqual(len(short), 4)
        self.assertAlmostEqual(sum(x * x for x in short), 1.0)
        np.testing.assert_allclose(short, evaluate.Model.load(self.folder).embed(["open file"], 4)[0], atol=1e-6)

    def test_rows_come_back_within_half_a_step(self) -> None:
        _, scales = export.quantise(self.rows)
        again = evaluate.Model.load(self.folder).rows
        self.assertTrue((np.abs(again - self.rows) <= scales[:, None] * 0.5001).all())

    def test_golden_notices_other_weights(self) -> None:
        before = (self.folder / "golden.json").read_text(encoding="utf-8")
        export.write(self.folder, self.rows[::-1].copy(), self.tokenizer, [16])
        (self.folder / "golden.json").write_text(before, encoding="utf-8")
        self.assertGreater(len(reference.check(self.folder)), 40)

    def test_golden_notices_other_pieces(self) -> None:
        other = [(text, score if text != "▁file" else -90.0) for text, score in self.tokenizer.pieces]
        save(other, self.folder / "tokenizer.json")
        self.assertTrue(any("has the pieces" in line for line in reference.check(self.folder)))

    def test_compressed_pieces_are_read(self) -> None:
        plain = self.folder / "tokenizer.json"
        with gzip.open(self.folder / "tokenizer.json.gz", "wb") as packed:
            packed.write(plain.read_bytes())
        plain.unlink()
        self.assertEqual(Unigram.load(plain).pieces, self.tokenizer.pieces)

    def test_what_does_not_fit_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "another tokenizer"):
            export.write(self.folder, self.rows[:-1], self.tokenizer, [16])
        with self.assertRaisesRegex(ValueError, "finite"):
            export.quantise(np.array([[np.nan, 1.0]], np.float32))

    def test_empty_row(self) -> None:
        small, scales = export.quantise(np.zeros((1, 4), np.float32))
        self.assertTrue((small == 0).all() and (scales > 0).all())


class Measures(Folder):
    def test_ndcg(self) -> None:
        cases = {
            "right one first": ([3, 2, 1], {0: 1.0}, 1.0),
            "right one second": ([2, 3, 1], {0: 1.0}, 1 / math.log2(3)),
            "graded, wrong order": ([3, 2], {0: 1.0, 1: 2.0}, (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))),
            "beyond ten": (list(range(12, 0, -1)), {11: 1.0}, 0.0),
        }
        for name, (scores, gold, wanted) in cases.items():
            with self.subTest(name):
                self.assertAlmostEqual(evaluate.ndcg(np.array(scores, float), gold), wanted)

    def model(self) -> evaluate.Model:
        """A word and its translation share a row of their own."""
        pieces = Unigram(toy_pieces())
        rows = np.zeros((len(pieces), len(TOY)), np.float32)
        number = {text: i for i, (text, _) in enumerate(pieces.pieces)}
        for dim, (english, foreign) in enumerate(TOY.items()):
            rows[[number["▁" + english], number["▁" + foreign]], dim] = 1
        return evaluate.Model(rows, pieces)

    def test_perfect_translation(self) -> None:
        lines = [f"=\t{english}\nxx\t{foreign}" for english, foreign in TOY.items()]
        (self.folder / "heldout.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (language,) = evaluate.read_heldout(self.folder / "heldout.tsv")
        self.assertEqual(evaluate.translation_hits(self.model(), language).mean(), 1.0)

    def test_search(self) -> None:
        tools = [{"id": w, "name": w, "description": None} for w in TOY]
        queries = [{"id": str(i), "text": w} for i, w in enumerate(TOY.values())] + [{"id": "none", "text": "x"}]
        labels = [{"query": str(i), "tool": w} for i, w in enumerate(TOY)]
        for name, lines in (("tools", tools), ("queries", queries), ("qrels", labels)):
            (self.folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        gains = evaluate.search_gains(self.model(), evaluate.read_set(self.folder))
        self.assertEqual(gains.tolist(), [1.0] * len(TOY))

    def test_same_sign(self) -> None:
        self.assertEqual(evaluate.same_sign(np.zeros(50), np.ones(50)), 1.0)
        self.assertEqual(evaluate.same_sign(np.ones(9), np.ones(9)), 0.5)
        level = np.tile([0.1, -0.1], 50)
        self.assertLess(evaluate.same_sign(np.zeros(101), np.append(level, 0.01)), 0.95)


class Tempering(Folder):
    SETTINGS = replace(Recipe(), unaccented=0.0, parallel_batch=64, english_batch=64, phrase_foreign=0.0)

    def setUp(self) -> None:
        """Rows that know the words, with noise in one direction that tells
        the languages apart and a lean that all share."""
        super().setUp()
        toy_data(self.folder)
        pieces = Unigram(toy_pieces())
        chance = np.random.default_rng(5)
        number = {text: i for i, (text, _) in enumerate(pieces.pieces)}
        rows = chance.normal(size=(len(pieces), 12)).astype(np.float32) * 0.01
        for dim, pair in enumerate(TOY.items()):
            for word in pair:
                rows[number["▁" + word], dim] = 1
                rows[number["▁" + word], 10] = chance.normal() * 3
        rows[:, 11] += 1.0
        self.rows, self.pieces = rows, pieces
        self.encoded = corpus.encode(read(self.folder, self.SETTINGS), pieces, self.SETTINGS)

    def accuracy(self, rows: np.ndarray) -> float:
        language = evaluate.Language("xx", list(TOY.values()), list(TOY))
        return float(evaluate.translation_hits(evaluate.Model(rows, self.pieces), language).mean())

    def test_noise_is_shortened(self) -> None:
        better = temper.temper(self.rows, self.encoded, self.SETTINGS, power=1.0, centre=0.5, batches=4)
        self.assertLess(self.accuracy(self.rows), 0.5)
        self.assertGreater(self.accuracy(better), 0.8)

    def test_nothing_asked_nothing_changed(self) -> None:
        same = temper.temper(self.rows, self.encoded, self.SETTINGS, power=0.0, centre=0.0, batches=1)
        np.testing.assert_allclose(same, self.rows, atol=1e-5)

    def test_the_whole_mean_can_be_taken(self) -> None:
        flat = temper.temper(self.rows, self.encoded, self.SETTINGS, power=0.0, centre=1.0, batches=1)
        np.testing.assert_allclose(temper.mean_row(flat, self.encoded), 0, atol=1e-5)


@unittest.skipUnless(TORCH, "PyTorch is not installed")
class Training(Folder):
    SETTINGS = replace(
        Recipe(), unaccented=0.0, dims=16, prefixes="16:1 8:0.5", similarity_prefix=8, parallel_batch=32,
        english_batch=16, unlabelled_batch=4, similarity_parallel=8, steps=120, warmup=10, rate=0.02,
    )  # fmt: skip

    def setUp(self) -> None:
        super().setUp()
        toy_data(self.folder)
        self.tokenizer = Unigram(toy_pieces())
        self.texts = read(self.folder, self.SETTINGS)
        self.encoded = corpus.encode(self.texts, self.tokenizer, self.SETTINGS)

    def accuracy(self, rows: np.ndarray) -> float:
        language = evaluate.Language("xx", list(TOY.values()), list(TOY))
        return float(evaluate.translation_hits(evaluate.Model(rows, self.tokenizer), language).mean())

    def teacher(self) -> np.ndarray:
        """A teacher that knows which words a text has."""
        return np.array([[word in text for word in TOY] for text in self.texts.english], np.float32)

    def train(self, teacher: np.ndarray | None, settings: Recipe = SETTINGS) -> tuple[np.ndarray, list[dict[str, float]]]:
        from . import train

        with contextlib.redirect_stdout(io.StringIO()):
            return train.train(self.encoded, teacher, settings, "cpu")

    def test_pairs_alone_teach_the_words(self) -> None:
        rows, course = self.train(None)
        self.assertEqual(rows.shape, (len(self.tokenizer), 16))
        self.assertLess(course[-1]["loss"], course[0]["loss"] / 2)
        self.assertGreaterEqual(self.accuracy(rows), 0.9)

    def test_teacher_is_followed(self) -> None:
        rows, course = self.train(self.teacher())
        self.assertLess(course[-1]["distance"], course[0]["distance"] / 2)
        self.assertLess(course[-1]["divergence"], course[0]["divergence"] / 2)
        self.assertGreaterEqual(self.accuracy(rows), 0.9)

    def test_same_seed_same_rows(self) -> None:
        brief = replace(self.SETTINGS, steps=5)
        a, b = (self.train(self.teacher(), brief)[0] for _ in range(2))
        np.testing.assert_array_equal(a, b)

    def test_copies_in_a_batch_are_no_counter_examples(self) -> None:
        import torch

        from . import train

        ones = torch.eye(2)
        twice = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        text = torch.tensor([5, 5])
        same = train.Vectors(twice, twice, ones[:0], text, text, text[:0], 2)
        self.assertLess(train.contrast(same, torch.tensor(20.0), {2: 1.0}).item(), 1e-6)
        different = train.Vectors(twice, twice, ones[:0], torch.tensor([5, 6]), torch.tensor([5, 6]), text[:0], 2)
        self.assertGreater(train.contrast(different, torch.tensor(20.0), {2: 1.0}).item(), 0.5)

    def test_a_text_keeps_at_least_its_pieces(self) -> None:
        import torch

        from . import train

        data = train.Data(self.encoded, replace(self.SETTINGS, dropout=1.0), "cpu")
        ids = data.english[:4]
        self.assertTrue(torch.equal(data.disturbed(ids), ids))


@unittest.skipUnless(TORCH, "PyTorch is not installed")
class Asking(Folder):
    """Rows that are continued on requests."""

    SETTINGS = replace(
        recipe.continued(replace(Recipe(), unaccented=0.0, dims=16, prefixes="16:1")), parallel_batch=32, english_batch=16,
        steps=60, warmup=5, rate=0.02, request_batch=32, request_dropout=0.0, tool_dropout=0.0, mistaken=4, hard=2, mine_every=20,
    )  # fmt: skip

    def setUp(self) -> None:
        super().setUp()
        toy_data(self.folder)
        # A request says something else than its tool does: who wants to see a picture opens it.
        words = list(TOY)
        tools = [{"id": f"{a}-{b}", "name": a, "description": b, "server": f"s{at}"} for at, (a, b) in enumerate(zip(words, words[1:]))]
        (self.folder / "tools.jsonl").write_text("\n".join(map(json.dumps, tools)) + "\n", encoding="utf-8")
        asked = [f"{t['id']}\t{kind}\txx\t{TOY[t['description']]}" for t in tools for kind in "AB"]
        (self.folder / "requests.tsv").write_text("\n".join(asked) + "\n", encoding="utf-8")
        self.tokenizer = Unigram(toy_pieces())

    def test_requests_find_their_tools(self) -> None:
        from . import requests

        got = requests.read(self.folder, self.tokenizer, set())
        got.share[:] = requests.REPORT + 1
        encoded = corpus.encode(read(self.folder, self.SETTINGS), self.tokenizer, self.SETTINGS)
        rows = np.random.default_rng(0).normal(size=(len(self.tokenizer), 16)).astype(np.float32)
        before = rows.copy()
        with contextlib.redirect_stdout(io.StringIO()):
            after = requests.train(rows, got, encoded, self.SETTINGS, "cpu")

        def first(some: np.ndarray) -> float:
            model = evaluate.Model(some, self.tokenizer)
            tools = model.embed_pieces([[i for i in ids if i < len(some)] for ids in got.whole])
            asked = model.embed_pieces([[i for i in ids if i < len(some)] for ids in got.request])
            return float(((asked @ tools.T).argmax(1) == got.tool).mean())

        self.assertGreater(first(after), first(before) + 0.3)

    def test_held_out_by_server(self) -> None:
        from . import requests

        got = requests.read(self.folder, self.tokenizer, {"s0"})
        self.assertTrue((got.share[got.tool == 0] == -1).all())
        for tool in range(1, 9):
            self.assertTrue((got.share[got.tool == tool] == requests.share_of(f"s{tool}")).all())
        self.assertEqual(requests.share_of("a"), 0xE40C292C % 20)  # FNV-1a's published value

    def test_mates_are_others_of_the_same_tool(self) -> None:
        from . import requests

        tool, learned = np.array([0, 1, 0, 1, 0, 2, 1]), np.array([True, True, True, True, True, True, False])
        mate = requests.mates(tool, learned, np.random.default_rng(3))
        np.testing.assert_array_equal(tool[mate], tool)
        for at in (0, 1, 2, 3, 4):
            self.assertNotEqual(mate[at], at)
            self.assertTrue(learned[mate[at]])
        self.assertEqual((mate[5], mate[6]), (5, 6))

    def test_a_tool_is_read_as_the_program_reads_it(self) -> None:
        from . import requests

        tool = {"name": "files.read", "description": "é" * 1500, "server": "someone/disk"}
        whole, name = requests.tool_texts(tool)
        self.assertEqual(name, "mcp_disk files read")
        self.assertEqual(whole, "mcp_disk files read. " + "é" * 1000)
        self.assertEqual(requests.tool_texts({"name": "read"}), ("read. ", "read"))


@unittest.skipUnless(TORCH, "PyTorch is not installed")
class Teaching(unittest.TestCase):
    def test_padding_does_not_count(self) -> None:
        import torch

        from . import teacher

        torch.manual_seed(0)
        bert = teacher.Bert({"hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2,
                             "vocab_size": 20, "max_position_embeddings": 12}).eval()  # fmt: skip
        with torch.no_grad():
            alone = bert(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 1, 1]]))
            padded = bert(torch.tensor([[3, 4, 5, 9, 9]]), torch.tensor([[1, 1, 1, 0, 0]]))
        torch.testing.assert_close(alone, padded, atol=1e-5, rtol=0)


if __name__ == "__main__":
    unittest.main()
