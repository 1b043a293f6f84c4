package embed_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"

	"callgate/internal/search/embed"
	"callgate/tool"
)

var close8 = cmpopts.EquateApprox(0, 2e-5)

// TestGolden holds the built-in model to its golden vectors, and the first
// version of it, opened as a folder, to those it came with.
func TestGolden(t *testing.T) {
	t.Run("built in", func(t *testing.T) { golden(t, builtin(t), "testdata/golden.json") })
	t.Run("first version", func(t *testing.T) {
		const folder = "../../../../shared/model"
		if _, err := os.Stat(folder); err != nil {
			t.Skip("needs ../shared/model")
		}
		m, err := embed.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, m, folder+"/golden.json")
	})
}

func golden(t *testing.T, m *embed.Static, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Text   string
		First8 []float32
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 50 {
		t.Fatalf("%d golden texts", len(all))
	}
	for _, g := range all {
		if diff := cmp.Diff(g.First8, m.Embed(nil, g.Text)[:8], close8); diff != "" {
			t.Errorf("%q: %s", g.Text, diff)
		}
	}
}

// The ID that is written down is the one the files have.
func TestBuiltinIsTheFolder(t *testing.T) {
	inside, outside := builtin(t), open(t, "multilingual")
	if inside.ID() != outside.ID() {
		t.Errorf("the program says %s and the folder is %s; write that down in open.go", inside.ID(), outside.ID())
	}
	if inside.Dim() != 256 || outside.Dim() != 256 {
		t.Errorf("%d and %d dimensions", inside.Dim(), outside.Dim())
	}
	text := "send an email"
	if diff := cmp.Diff(inside.Embed(nil, text), outside.Embed(nil, text)); diff != "" {
		t.Error(diff)
	}
}

func TestMeaningCrossesLanguages(t *testing.T) {
	m := builtin(t)
	near := dot(m.Embed(nil, "delete the file"), m.Embed(nil, "Datei löschen"))
	far := dot(m.Embed(nil, "delete the file"), m.Embed(nil, "weather forecast"))
	if near < far+0.2 {
		t.Errorf("one meaning scores %g, another %g", near, far)
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func open(tb testing.TB, dir string) *embed.Static {
	tb.Helper()
	m, err := embed.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// words is a tokenizer whose pieces are a, b, c and d, after [UNK].
const words = `{"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"a":1,"b":2,"c":3,"d":4}}}`

// tensorFile writes tensors; a shape and data for each name and type.
type tensorEntry struct {
	name, kind string
	shape      []int
	data       string
}

func tensorFile(entries ...tensorEntry) string {
	header, data := map[string]any{}, ""
	for _, e := range entries {
		header[e.name] = map[string]any{"dtype": e.kind, "shape": e.shape,
			"data_offsets": []int{len(data), len(data) + len(e.data)}}
		data += e.data
	}
	text, _ := json.Marshal(header)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + string(text) + data
}

func floats(list ...float32) string {
	var out []byte
	for _, x := range list {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return string(out)
}

func folder(t *testing.T, model, tok, config string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"model.safetensors": model, "tokenizer.json": tok, "config.json": config} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestModelsOfEveryType(t *testing.T) {
	// Rows for [UNK], a, b, c, d.
	table := []float32{9, 9, 1, 0, 0, 1, -1, 0, 0, 0}
	half := map[float32]string{9: "\x80\x48", 1: "\x00\x3c", 0: "\x00\x00", -1: "\x00\xbc"}
	brain := map[float32]string{9: "\x10\x41", 1: "\x80\x3f", 0: "\x00\x00", -1: "\x80\xbf"}
	written := map[string]string{"F32": floats(table...)}
	for _, x := range table {
		written["I8"] += string([]byte{byte(int8(x))})
		written["F16"] += half[x]
		written["BF16"] += brain[x]
	}
	root := float32(math.Sqrt(0.5))
	for kind, data := range written {
		m := open(t, folder(t, tensorFile(tensorEntry{"embeddings", kind, []int{5, 2}, data}), words, `{"normalize":true}`))
		for text, want := range map[string][]float32{
			"a":         {1, 0},
			"a b":       {root, root},
			"a b zebra": {root, root}, // the unknown is dropped
			"":          {root, root}, // nothing is piece 0
			"a c":       {1, 0},       // rows that add up to nothing: the first axis
			"d":         {1, 0},       // a row of zeros as well
			"b b c":     {-0.447214, 0.894427},
		} {
			if diff := cmp.Diff(want, m.Embed(nil, text), close8); diff != "" {
				t.Errorf("%s: %q: %s", kind, text, diff)
			}
		}
	}
}

func TestModel2VecExtras(t *testing.T) {
	i64 := func(list ...uint64) (out string) {
		for _, n := range list {
			out += string(binary.LittleEndian.AppendUint64(nil, n))
		}
		return out
	}
	mapping := tensorEntry{"mapping", "I64", []int{5}, i64(0, 1, 2, 2, 1)}
	weights := tensorEntry{"weights", "F32", []int{5}, floats(1, 3, 4, 1, 1)}
	scales := tensorEntry{"scales", "F32", []int{5}, floats(1, 4, 3, 1, 1)}
	rows5 := tensorEntry{"embeddings", "I8", []int{5, 2}, "\x01\x01\x01\x00\x00\x01\x01\x00\x00\x01"}
	rows3 := tensorEntry{"embeddings", "F32", []int{3, 2}, floats(1, 1, 1, 0, 0, 1)}
	other := tensorEntry{"embedding.weight", "I8", []int{5, 2}, rows5.data}
	for name, c := range map[string]struct {
		model, config, text string
		want                []float32
	}{
		"weights":                  {tensorFile(rows5, weights), `{}`, "a b", []float32{0.6, 0.8}},
		"scales":                   {tensorFile(rows5, scales), `{}`, "a b", []float32{0.8, 0.6}},
		"a row for several pieces": {tensorFile(rows3, mapping), `{}`, "c c c d d d d", []float32{0.8, 0.6}},
		"weights are by piece":     {tensorFile(rows3, mapping, weights), "", "d d d c c c c", []float32{0.6, 0.8}},
		"another name":             {tensorFile(other), "", "a", []float32{1, 0}},
		"always of length one":     {tensorFile(rows5, scales), `{"normalize":false}`, "a b", []float32{0.8, 0.6}},
	} {
		if diff := cmp.Diff(c.want, open(t, folder(t, c.model, words, c.config)).Embed(nil, c.text), close8); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestModelsThatAreRefused(t *testing.T) {
	rows := tensorEntry{"embeddings", "I8", []int{5, 1}, "12345"}
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		model, tok, config string
		kind               tool.Kind
		has                string
	}{
		"no files":            {"", "", "", tool.NotFound, "model.safetensors"},
		"no tokenizer":        {tensorFile(rows), "", "", tool.NotFound, "tokenizer.json"},
		"a damaged model":     {"1234", words, "", tool.Invalid, "header"},
		"a damaged tokenizer": {tensorFile(rows), "{", "", tool.Invalid, "tokenizer.json"},
		"a damaged config":    {tensorFile(rows), words, "{", tool.Invalid, "config.json"},
		"no embeddings": {tensorFile(tensorEntry{"x", "I8", []int{1}, "1"}), words, "", tool.Invalid,
			"no tensor named embeddings"},
		"a list of rows": {tensorFile(tensorEntry{"embeddings", "I8", []int{5}, "12345"}), words, "", tool.Invalid,
			"dimensions"},
		"no columns": {tensorFile(tensorEntry{"embeddings", "I8", []int{5, 0}, ""}), words, "", tool.Invalid,
			"dimensions"},
		"a type of no meaning": {tensorFile(tensorEntry{"embeddings", "U8", []int{5, 1}, "12345"}), words, "",
			tool.Invalid, "U8"},
		"more pieces than rows": {tensorFile(tensorEntry{"embeddings", "I8", []int{4, 1}, "1234"}), words, "", tool.Invalid,
			"5 pieces"},
		"scales for others": {tensorFile(rows, tensorEntry{"scales", "F32", []int{1}, floats(1)}), words, "",
			tool.Invalid, "1 numbers for 5"},
		"scales of no value": {tensorFile(rows, tensorEntry{"scales", "F32", []int{5}, floats(1, 1, nan, 1, 1)}), words,
			"", tool.Invalid, "not finite"},
		"weights for few": {tensorFile(rows, tensorEntry{"weights", "F32", []int{1}, floats(1)}), words, "",
			tool.Invalid, "only 1"},
		"weights of bytes": {tensorFile(rows, tensorEntry{"weights", "U8", []int{5}, "12345"}), words, "",
			tool.Invalid, "weights"},
		"a mapping past rows": {tensorFile(rows, tensorEntry{"mapping", "I32", []int{1}, "\x05\x00\x00\x00"}), words, "",
			tool.Invalid, "mapping"},
		"a mapping of few": {tensorFile(rows, tensorEntry{"mapping", "I32", []int{1}, "\x00\x00\x00\x00"}), words, "",
			tool.Invalid, "only 1"},
	} {
		_, err := embed.Open(folder(t, c.model, c.tok, c.config))
		if err == nil || tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.has) {
			t.Errorf("%s: %v (%s), want %s with %q", name, err, tool.KindOf(err), c.kind, c.has)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "model.safetensors"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := embed.Open(dir); err == nil {
		t.Error("a folder was read as a file")
	}
}

func TestCompressedTokenizer(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	model := tensorFile(tensorEntry{"embeddings", "I8", []int{5, 1}, "12345"})
	packed := string(encoder.EncodeAll([]byte(words), nil))
	plain, dir := folder(t, model, words, ""), folder(t, model, "", "")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "tokenizer.json.zst"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(packed)
	if got, want := open(t, dir).ID(), open(t, plain).ID(); got != want {
		t.Errorf("compressed, the model is %s instead of %s", got, want)
	}
	for name, damaged := range map[string]string{
		"cut off":    packed[:len(packed)-5],
		"plain text": words,
		"changed":    packed[:len(packed)-1] + "\x00", // a byte of its checksum
		"300 MB":     "\x28\xb5\x2f\xfd\xa0\x00\x00\xc0\x12" + packed,
	} {
		write(damaged)
		if _, err := embed.Open(dir); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "tokenizer.json.zst") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIDFollowsTheContent(t *testing.T) {
	rows := func(data string) string { return tensorFile(tensorEntry{"embeddings", "I8", []int{5, 1}, data}) }
	seen := map[string]string{}
	for name, dir := range map[string]string{
		"first":     folder(t, rows("12345"), words, "{}"),
		"rows":      folder(t, rows("12346"), words, "{}"),
		"tokenizer": folder(t, rows("12345"), words+" ", "{}"),
		"config":    folder(t, rows("12345"), words, "{} "),
	} {
		id := open(t, dir).ID()
		if other, twice := seen[id]; twice {
			t.Errorf("%s and %s have one ID", name, other)
		}
		seen[id] = name
	}
	if _, ok := seen[open(t, folder(t, rows("12345"), words, "{}")).ID()]; !ok {
		t.Error("the same files in another folder have another ID")
	}
}

func TestEmbedUsesItsDestination(t *testing.T) {
	m := builtin(t)
	want := m.Embed(nil, "hello")
	room := slices.Repeat([]float32{7}, 300)
	got := m.Embed(room, "hello")
	if &got[0] != &room[0] || !slices.Equal(got, want) {
		t.Error("the room that was there was not used, or not cleared")
	}
}

func TestManyAtOnce(t *testing.T) {
	m := builtin(t)
	texts := []string{"hello", "", "帮我查一下", "\xff\xfe", strings.Repeat("many words ", 500)}
	var want [][]float32
	for _, text := range texts {
		want = append(want, m.Embed(nil, text))
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			dst := make([]float32, m.Dim())
			for i := range 50 {
				k := i % len(texts)
				if dst = m.Embed(dst, texts[k]); !slices.Equal(dst, want[k]) {
					t.Errorf("text %d has another vector beside others", k)
				}
			}
		})
	}
	group.Wait()
}

func FuzzEmbed(f *testing.F) {
	m := builtin(f)
	for _, seed := range []string{"", "hello", "\xff\x00", "東京Tower", fmt.Sprint(requests)} {
		f.Add(seed)
	}
	dst := make([]float32, m.Dim())
	f.Fuzz(func(t *testing.T, text string) {
		dst = m.Embed(dst, text)
		if length := dot(dst, dst); math.Abs(length-1) > 1e-5 {
			t.Fatalf("%q has a vector of length² %g", text, length)
		}
	})
}
