package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"callgate/internal/search/embed/tokenizer"
)

func parse(tb testing.TB, text string) *tokenizer.Tokenizer {
	tb.Helper()
	t, err := tokenizer.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// shipped is the tokenizer of the model the program carries.
func shipped(tb testing.TB) *tokenizer.Tokenizer {
	tb.Helper()
	packed, err := os.Open("../multilingual/tokenizer.json.zst")
	if err != nil {
		tb.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := zstd.NewReader(packed)
	if err != nil {
		tb.Fatal(err)
	}
	defer unpacked.Close()
	text, err := io.ReadAll(unpacked)
	if err != nil {
		tb.Fatal(err)
	}
	return parse(tb, string(text))
}

// scored writes a Unigram vocabulary.
func scored(pieces ...any) string {
	var list []string
	for i := 0; i < len(pieces); i += 2 {
		piece, _ := json.Marshal(pieces[i])
		list = append(list, fmt.Sprintf("[%s,%v]", piece, pieces[i+1]))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// own writes a file of the own shape: <unk> is 0, the bytes are 1 to 256, and
// the pieces follow.
func own(pieces ...any) string {
	all := []any{"<unk>", 0}
	for b := range 256 {
		all = append(all, fmt.Sprintf("<0x%02X>", b), -20)
	}
	return `{"version":"1.0","normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"Unigram","unk_id":0,"vocab":` +
		scored(append(all, pieces...)...) + `,"byte_fallback":true}}`
}

func TestGolden(t *testing.T) {
	data, err := os.ReadFile("../testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Text string
		IDs  []int32
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 50 {
		t.Fatalf("%d golden texts", len(all))
	}
	tok := shipped(t)
	for _, g := range all {
		if diff := cmp.Diff(g.IDs, tok.Append(nil, g.Text)); diff != "" {
			t.Errorf("%q: %s", g.Text, diff)
		}
	}
}

func TestOwnShape(t *testing.T) {
	tok := parse(t, own(
		"\u2581", -5, "\u2581get", -3, "\u2581http", -3, "\u2581request", -3, "\u2581v", -3, "2", -4, // 257 to 262
		"東京", -3, "\u2581tower", -3, "a", -1, "b", -1, "ab", -2, "\u2581i", -3, "<unk>", -9, // 263 to 269
		"ไฟล์", -3, "\u2581fi", -3, "\u2581+", -3, "s", -2)) // 270 to 273
	for name, c := range map[string]struct {
		text string
		want []int32
	}{
		"camel case":                  {"getHTTPRequest_v2", []int32{258, 259, 260, 261, 262}},
		"a digit before a capital":    {"2Get", []int32{257, 262, 258}},
		"small letters join":          {"gets", []int32{258, 273}},
		"scripts break":               {"東京Tower", []int32{263, 264}},
		"scripts break, other way":    {"tower東京", []int32{264, 263}},
		"spaces in unspaced scripts":  {"東京 ไฟล์", []int32{263, 270}},
		"punctuation breaks":          {"get/request.v", []int32{258, 260, 261}},
		"symbols do not":              {"+2", []int32{272, 262}},
		"compatibility forms":         {"ﬁ ｖ２", []int32{271, 261, 262}},
		"a dotted capital":            {"İ", []int32{268}},
		"one score, the longer stays": {"ab", []int32{257, 267}},
		"unknown characters":          {"é", []int32{257, 1 + 0xC3, 1 + 0xA9}},
		"a run of unknown ones":       {"ж中", []int32{257, 1 + 0xD0, 1 + 0xB6, 1 + 0xE4, 1 + 0xB8, 1 + 0xAD}},
		"not UTF-8":                   {"\xff", []int32{257, 1 + 0xEF, 1 + 0xBF, 1 + 0xBD}},
		"the last of two pieces":      {"<unk>", []int32{257, 269}},
		"empty":                       {"", []int32{0}},
		"nothing but punctuation":     {" .,-\n", []int32{0}},
	} {
		if diff := cmp.Diff(c.want, tok.Append(nil, c.text)); diff != "" {
			t.Errorf("%s: %q: %s", name, c.text, diff)
		}
	}
}

const (
	bert      = `"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"}`
	cased     = `"normalizer":{"type":"BertNormalizer","lowercase":false},"pre_tokenizer":{"type":"BertPreTokenizer"}`
	wordPiece = `"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":12,"vocab":{
		"[PAD]":0,"[UNK]":1,"un":2,"##aff":3,"##able":4,"hello":5,",":6,"world":7,"cafe":8,"中":9,"文":10,"a":11,"##b":12,"ab":13,"##abc":14,"[":15,"]":16,"UN":17,"unk":18,"一":19}}`
)

func TestWordPiece(t *testing.T) {
	for name, c := range map[string]struct {
		rules, text string
		want        []int32
	}{
		"words":                  {bert, "Hello, world", []int32{5, 6, 7}},
		"pieces inside":          {bert, "unaffable", []int32{2, 3, 4}},
		"the longest first":      {bert, "ababc", []int32{13, 14}},
		"a word that has no end": {bert, "hello unaffx world", []int32{5, 7}},
		"accents":                {bert, "CAFÉ", []int32{8}},
		"accents that stay":      {cased, "café", []int32{0}},
		"case that stays":        {cased, "UNaff un", []int32{17, 3, 2}},
		"Chinese characters":     {bert, "中文hello", []int32{9, 10, 5}},
		"what is not seen":       {bert, "he\u200bl\x00lo\u00a0wor\u00adld", []int32{5, 7}},
		"a word too long":        {bert, "ab" + strings.Repeat("b", 11), []int32{0}},
		"a word just short": {bert, "ab" + strings.Repeat("b", 10),
			[]int32{13, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12}},
		"no token is special": {bert, "[UNK]", []int32{15, 18, 16}},
		"no normalizer": {`"normalizer":null,"pre_tokenizer":{"type":"BertPreTokenizer"}`, "hello Hello",
			[]int32{5}},
		"white space alone":       {`"pre_tokenizer":{"type":"WhitespaceSplit"}`, "hello\tworld hello,world", []int32{5, 7}},
		"no pre-tokenizer either": {`"pre_tokenizer":null`, "unaffable", []int32{2, 3, 4}},
		"empty":                   {bert, "", []int32{0}},
		"only unknown":            {bert, "xyzzy", []int32{0}},
	} {
		tok := parse(t, "{"+c.rules+","+wordPiece+"}")
		if tok.Size() != 20 {
			t.Errorf("size %d", tok.Size())
		}
		if diff := cmp.Diff(c.want, tok.Append(nil, c.text)); diff != "" {
			t.Errorf("%s: %q: %s", name, c.text, diff)
		}
	}
}

func TestUnigram(t *testing.T) {
	vocabulary := scored("<unk>", 0, "\u2581", -6, "\u2581he", -4, "llo", -4, "\u2581hello", -7, "\u2581new", -5,
		"\u2581york", -5,
		"\u2581new\u2581york", -8, "!", -3, "w", -9, "fi", -3, "1", -3, "\u2581!", -3, "<0x41>", -9, "hello", -5, "york", -7)
	model := `"model":{"type":"Unigram","unk_id":0,"vocab":` + vocabulary + `}`
	fallback := `"model":{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":` + vocabulary + `}`
	metaspace := `"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`
	whole := `"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}`
	model2vec := `"normalizer":{"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":"AAAA"},{"type":"Replace","pattern":{"String":"!"},"content":" ! "},
		{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},{"type":"Strip","strip_left":false,"strip_right":true}]}`
	for name, c := range map[string]struct {
		rules, text string
		want        []int32
	}{
		"the best score, not the longest": {metaspace + "," + model, "hello", []int32{4}},
		"pieces of several words":         {whole + "," + model, "new york", []int32{7}},
		"not across a split":              {metaspace + "," + model, "new york", []int32{5, 6}},
		"unknown ones are dropped":        {metaspace + "," + model, "hexllo", []int32{2, 3}},
		"a literal unknown too":           {metaspace + "," + model, "he<unk>llo", []int32{2, 3}},
		"Model2Vec's own normalizers":     {model2vec + "," + whole + "," + model, "new\n\t york!!", []int32{7, 12, 12}},
		"compatibility forms":             {model2vec + "," + metaspace + "," + model, "ﬁ①", []int32{1, 10, 11}},
		"two spaces stay two":             {metaspace + "," + model, "new  york", []int32{5, 1, 6}},
		"until they are made one":         {`"normalizer":{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "},` + metaspace + "," + model, "new   york", []int32{5, 6}},
		"no mark before the first": {`"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"never"},` + model,
			"hello york", []int32{14, 6}},
		"only before the first": {`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","prepend_scheme":"first"}]},` + model, "hello york", []int32{4, 15}},
		"before each":           {`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace"}]},` + model, "hello york", []int32{4, 6}},
		"the old word for never": {`"pre_tokenizer":{"type":"Metaspace","add_prefix_space":false},` + model,
			"hello", []int32{14}},
		"bytes, where there are pieces": {metaspace + "," + fallback, "heAB", []int32{2, 13}},
		"prepend and lowercase":         {`"normalizer":{"type":"Sequence","normalizers":[{"type":"Lowercase"},{"type":"Prepend","prepend":"▁"}]},"pre_tokenizer":null,` + model, "HELLO", []int32{4}},
		"strip both sides": {`"normalizer":{"type":"Strip"},` + whole + "," + model, " \n new york\u00a0",
			[]int32{7}},
		"accents": {`"normalizer":{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]},` + metaspace + "," + model, "héllö", []int32{4}},
		"empty":   {model2vec + "," + whole + "," + model, " \n", []int32{0}},
	} {
		if diff := cmp.Diff(c.want, parse(t, "{"+c.rules+"}").Append(nil, c.text)); diff != "" {
			t.Errorf("%s: %q: %s", name, c.text, diff)
		}
	}
}

func TestByteLevel(t *testing.T) {
	vocabulary := `{"[UNK]":0,"h":1,"e":2,"l":3,"o":4,"Ġ":5,"'":6,"s":7,"Ã":8,"©":9,"he":10,"ll":11,"hell":12,"hello":13,"Ġh":14,"Ġhello":15,"Ã©":16,"'s":17,"1":18,"2":19,"12":20,"Ċ":21,"ĠĠ":22,"!":23}`
	asText := `["h e","l l","he ll","hell o","Ġ h","Ġh e","Ġ hello","Ã ©","' s","1 2","Ġ Ġ"]`
	asLists := `[["h","e"],["l","l"],["he","ll"],["hell","o"],["Ġ","h"],["Ġ","hello"],["Ã","©"],["'","s"],["1","2"],["Ġ","Ġ"]]`
	asText = strings.Replace(asText, `"Ġh e",`, "", 1)
	bpe := func(merges string) string {
		return `"model":{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":"","end_of_word_suffix":"","vocab":` + vocabulary + `,"merges":` + merges + `}`
	}
	byteLevel := `"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`
	prefixed := `"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true}`
	unigram := `"model":{"type":"Unigram","unk_id":0,"vocab":` + scored("[UNK]", 0, "Ġhello", -3, "ĠhelloĠhello", -4,
		"Ã©", -2, "Ã", -9, "©", -9) + `}`
	for name, c := range map[string]struct {
		rules, text string
		want        []int32
	}{
		"merged in the order of merges": {byteLevel + "," + bpe(asText), "hello", []int32{13}},
		"merges as lists":               {byteLevel + "," + bpe(asLists), "hello", []int32{13}},
		"the space goes with the word":  {byteLevel + "," + bpe(asText), "hello hello", []int32{13, 15}},
		"an earlier merge wins":         {byteLevel + "," + bpe(asText), " he", []int32{5, 10}},
		"a prefix":                      {prefixed + "," + bpe(asText), "hello", []int32{15}},
		"bytes of a character":          {byteLevel + "," + bpe(asText), "e\u0301", []int32{16}},
		"contractions":                  {byteLevel + "," + bpe(asText), "he's", []int32{10, 17}},
		"numbers apart from letters":    {byteLevel + "," + bpe(asText), "he12!", []int32{10, 20, 23}},
		"white space leaves its last":   {byteLevel + "," + bpe(asText), "he   he", []int32{10, 22, 5, 10}},
		"white space at the end":        {byteLevel + "," + bpe(asText), "he  ", []int32{10, 22}},
		"a line end before a word":      {byteLevel + "," + bpe(asText), "he\nhe", []int32{10, 21, 10}},
		"unknown ones are dropped":      {byteLevel + "," + bpe(asText), "hexhe", []int32{10, 10}},
		"words that are pieces":         {byteLevel + `,"model":{"type":"BPE","ignore_merges":true,"vocab":` + vocabulary + `,"merges":[]}`, "hello hell 12", []int32{13, 5, 1, 2, 3, 3, 5, 18, 19}},
		"unigram over bytes":            {`"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true,"use_regex":false},` + unigram, "hello hello é", []int32{2, 3}},
	} {
		if diff := cmp.Diff(c.want, parse(t, "{"+c.rules+"}").Append(nil, c.text)); diff != "" {
			t.Errorf("%s: %q: %s", name, c.text, diff)
		}
	}
	long := parse(t, "{"+byteLevel+","+bpe(asText)+"}").Append(nil, strings.Repeat("hello", 4096))
	if len(long) < 4096 || len(long) > 4200 {
		t.Errorf("a very long word became %d pieces", len(long))
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	for name, file := range map[string]string{"own": own("\u2581a", -1), "word pieces": "{" + bert + "," + wordPiece + "}"} {
		tok := parse(t, file)
		got := tok.Append([]int32{1, -1, 0}, "")
		if diff := cmp.Diff([]int32{1, -1, 0, 0}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	texts := []string{"hello, world", "unaffable", "中文", "", strings.Repeat("hello world ", 30_000)}
	for name, tok := range map[string]*tokenizer.Tokenizer{"own": shipped(t), "word pieces": parse(t, "{"+bert+","+wordPiece+"}")} {
		var want [][]int32
		for _, text := range texts {
			want = append(want, tok.Append(nil, text))
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for i := range 2 * len(texts) {
					k := i % len(texts)
					if !slices.Equal(want[k], tok.Append(nil, texts[k])) {
						t.Errorf("%s: text %d differs beside others", name, k)
					}
				}
			})
		}
		group.Wait()
	}
}
