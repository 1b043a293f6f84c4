package tokenizer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/search/embed/tokenizer"
	"callgate/tool"

	"golang.org/x/text/unicode/norm"
)

func TestFilesThatAreRefused(t *testing.T) {
	model := `"model":{"type":"Unigram","vocab":[["a",-1]]}`
	bytePieces := `"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"Unigram","byte_fallback":true,"vocab":[["a",-1]]}`
	bpe := `"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":`
	deep := strings.Repeat("[", 100_000)
	for name, c := range map[string]struct{ file, has string }{
		"empty":                    {"", "expected"},
		"not JSON":                 {"hello", "expected"},
		"cut off":                  {`{"model":{"type":"Unigram","vocab":[["a"`, "expected"},
		"more after the end":       {"{" + model + "} x", "end of the file"},
		"too deep":                 {`{"x":` + deep, "less deep"},
		"not UTF-8":                {`{"model":{"type":"Unigram","vocab":[["` + "\xff" + `",-1]]}}`, "UTF-8"},
		"no model":                 {`{"normalizer":null}`, "no model"},
		"no vocabulary":            {`{"model":{"type":"Unigram"}}`, "no model with a vocabulary"},
		"an empty vocabulary":      {`{"model":{"type":"Unigram","vocab":[]}}`, "no model with a vocabulary"},
		"two vocabularies":         {`{"model":{"vocab":[["a",-1]],"vocab":[["a",-1]]}}`, "two vocabularies"},
		"vocabulary is a number":   {`{"model":{"type":"Unigram","vocab":3}}`, "a list or an object"},
		"a piece without score":    {`{"model":{"type":"Unigram","vocab":[["a"]]}}`, "expected"},
		"a score that is none":     {`{"model":{"type":"Unigram","vocab":[["a",1e999]]}}`, "score 1e999"},
		"scores where none belong": {`{"model":{"type":"Unigram","vocab":{"a":0}}}`, "no scores"},
		"a negative number":        {`{"model":{"type":"WordPiece","vocab":{"a":-1}}}`, "number -1"},
		"a huge number":            {`{"model":{"type":"WordPiece","vocab":{"a":999999999}}}`, "number 999999999"},
		"half a number":            {`{"model":{"type":"WordPiece","vocab":{"a":1.5}}}`, "number 1.5"},
		"a number beyond all": {`{"model":{"type":"WordPiece","vocab":{"a":99999999999999999999}}}`,
			"number 99999999999999999999"},
		"an unknown model":          {`{"model":{"type":"WordLevel","vocab":{"a":0}}}`, `"WordLevel"`},
		"a model without type":      {`{"model":{"vocab":{"a":0}}}`, `type ""`},
		"an unknown normalizer":     {`{"normalizer":{"type":"Nmt"},` + model + `}`, `"Nmt"`},
		"one inside a sequence":     {`{"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Magic"}]},` + model + `}`, `"Magic"`},
		"a normalizer of no shape":  {`{"normalizer":[1],` + model + `}`, "another form"},
		"an unknown pre-tokenizer":  {`{"pre_tokenizer":{"type":"Digits"},` + model + `}`, `"Digits"`},
		"a pattern of another kind": {`{"normalizer":{"type":"Replace","pattern":{"Regex":"a+"},"content":""},` + model + `}`, `"a+"`},
		"a pattern that is empty":   {`{"normalizer":{"type":"Replace","pattern":{"String":""},"content":"x"},` + model + `}`, "has no pattern"},
		"a content too long":        {`{"normalizer":{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("x", 1000) + `"},` + model + `}`, "1000 bytes"},
		"too many normalizers": {`{"normalizer":{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"NFC"},`,
			100) + `{"type":"NFC"}]},` + model + `}`, "more than 64"},
		"a mark of two characters": {`{"pre_tokenizer":{"type":"Metaspace","replacement":"ab"},` + model + `}`,
			"not one character"},
		"an unknown scheme": {`{"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"sometimes"},` + model + `}`,
			`"sometimes"`},
		"bytes without pieces": {"{" + bytePieces + "}", "<0x00>"},
		"BPE of characters":    {`{"pre_tokenizer":{"type":"Metaspace"},"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}`, "other than ByteLevel"},
		"BPE without merges": {`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0}}}`,
			"no merges"},
		"BPE with dropout":       {`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]}}`, "dropout"},
		"a merge of the unknown": {"{" + bpe + `["a c"]}}`, "not in the vocabulary"},
		"a merge of one":         {"{" + bpe + `["a"]}}`, "not in the vocabulary"},
		"a merge of three":       {"{" + bpe + `[["a","b","ab"]]}}`, "two sides"},
		"a merge there twice":    {"{" + bpe + `["a b","a b"]}}`, "twice"},
		"merges that are none":   {"{" + bpe + `7}}`, "expected"},
	} {
		_, err := tokenizer.Parse(c.file)
		if err == nil || !strings.Contains(err.Error(), c.has) || tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v (%s), want %q", name, err, tool.KindOf(err), c.has)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%s: the error is %d bytes long", name, len(err.Error()))
		}
	}
}

// Rules that each make a text longer do not fill the memory.
func TestTextsDoNotGrowWithoutEnd(t *testing.T) {
	double := strings.Repeat(`{"type":"Replace","pattern":{"String":"a"},"content":"`+strings.Repeat("a", 64)+`"},`, 60)
	tok := parse(
		t,
		`{"normalizer":{"type":"Sequence","normalizers":[`+double+`{"type":"NFC"}]},"model":{"type":"Unigram","vocab":[["a",-1]]}}`,
	)
	if got := len(tok.Append(nil, strings.Repeat("a", 1000))); got > 100_000 {
		t.Errorf("1,000 letters became %d pieces", got)
	}
}

func TestJSONStrings(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`:            "plain",
		`"\u00e9\n\"\\\/\t"`: "é\n\"\\/\t",
		`"\ud83c\udf89!"`:    "🎉!",
		`"\ud83c!"`:          "\ufffd!",
		`"\udf89\u0041"`:     "\ufffdA",
		`"\uD83C\u0041"`:     "\ufffdA",
		`"é\u2581"`:          "é\u2581",
	} {
		if got, err := tokenizer.String(in); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestTrieGrows(t *testing.T) {
	trie := tokenizer.NewTrie()
	name := func(i int) string { return fmt.Sprintf("%x\x00%d", i*i, i) }
	const n = 20_000
	for i := range n {
		if !trie.Insert(name(i), i) {
			t.Fatal("full")
		}
	}
	trie.Insert("", 5)
	for i := range n {
		if got := trie.Lookup(name(i)); got != i {
			t.Fatalf("%q is %d, not %d", name(i), got, i)
		}
	}
	for _, absent := range []string{"", "x", name(7) + "0", name(n), "\x00"} {
		if got := trie.Lookup(absent); got != -1 {
			t.Errorf("%q is %d", absent, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("{"+bert+","+wordPiece+"}", "Hello, wörld 中文")
	f.Add(own("\u2581a", -1), "aB\xffc")
	f.Add(`{"pre_tokenizer":{"type":"Metaspace"},"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["\u2581a",-1.5e0]]}}`, "a b")
	f.Add(
		`{"normalizer":{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},{"type":"Strip"}]},"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`,
		"ab a'll  b",
	)
	f.Fuzz(func(t *testing.T, file, text string) {
		tok, err := tokenizer.Parse(file)
		if err != nil {
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.Invalid || e.Op == "" {
				t.Fatalf("the error %v is not one of ours", err)
			}
			return
		}
		inRange(t, tok, text)
	})
}

func inRange(t *testing.T, tok *tokenizer.Tokenizer, text string) {
	t.Helper()
	pieces := tok.Append(nil, text)
	if len(pieces) == 0 {
		t.Fatal("no pieces")
	}
	for _, piece := range pieces {
		if piece < 0 || int(piece) >= tok.Size() {
			t.Fatalf("piece %d of %d", piece, tok.Size())
		}
	}
}

func FuzzText(f *testing.F) {
	tokenizers := []*tokenizer.Tokenizer{
		shipped(f), parse(f, "{"+bert+","+wordPiece+"}"), parse(f, "{"+cased+","+wordPiece+"}"),
		parse(
			f,
			`{"normalizer":{"type":"Precompiled"},"pre_tokenizer":{"type":"Metaspace"},"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["\u2581a",-1.5],["b",-2]]}}`,
		),
		parse(f, `{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"\u0120":3},"merges":["a b"]}}`),
	}
	for _, seed := range []string{"", "getHTTPRequest_v2", "\xff\xfe", "東京Tower", "e\u0301\u0301", "\ud55c\u1161", "a  b\n'll", "İΣς"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range tokenizers {
			inRange(t, tok, text)
		}
	})
}

// The parser takes exactly the JSON that is in UTF-8, less what is very deep.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,true,false,null,"x\u0041\n"]}`, `[01]`, `"\ud800"`, "1.", "-", `{"a":}`, " [ ] ", `[1,]`, "nul", "\"\x01\"", `"\x"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "[")+strings.Count(text, "{") > 100 {
			return
		}
		want := json.Valid([]byte(text)) && utf8.ValidString(text)
		if got := tokenizer.ValidJSON(text); got != want {
			t.Fatalf("%q: valid %v, want %v", text, got, want)
		}
		if !want || text[0] != '"' {
			return
		}
		var std string
		if json.Unmarshal([]byte(text), &std) == nil {
			if got, err := tokenizer.String(text); err != nil || got != std {
				t.Fatalf("%q reads as %q, %v; want %q", text, got, err, std)
			}
		}
	})
}

// Text is normalised in stretches; together they are what it would be whole.
func FuzzNormalized(f *testing.F) {
	for _, seed := range []string{"", "ﬁle…", "e\u0301\u0323x", "ｶﾞ", "\u1100\u1161\u11a8", "a\u0345\u0301", "ทำ", "\u0344"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			if got, want := tokenizer.Normalized(form, text), form.String(text); got != want {
				t.Fatalf("form %d of %+q is %+q, want %+q", form, text, got, want)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	file := "{" + bert + "," + wordPiece + "}"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tokenizer.Parse(file); err != nil {
			b.Fatal(err)
		}
	}
}
