package laxjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent/calltext/laxjson"
)

func TestReaderRepairsNearJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a": 1,}`:                      `{"a":1}`,
		`[1, 2, ]`:                       `[1,2]`,
		`{'a': 'it's', 'b': "x"}`:        `{"a":"it's","b":"x"}`,
		`{a: True, b-c: None}`:           `{"a":true,"b-c":null}`,
		"{“a”: “b”, ‘c’: ‘d’}":           `{"a":"b","c":"d"}`,
		"{\"a\": \"one\ntwo\tthree\"}":   `{"a":"one\ntwo\tthree"}`,
		`{"a": "\d \u12 \q"}`:            `{"a":"\\d \\u12 \\q"}`,
		`{"a": "say "hi" to me"}`:        `{"a":"say \"hi\" to me"}`,
		`{"a": .5, "b": +1, "c": 2.}`:    `{"a":0.5,"b":1,"c":2}`,
		`{"a": """one "two" three"""}`:   `{"a":"one \"two\" three"}`,
		`{a:<|"|>x "y"<|"|>,b:[1]}`:      `{"a":"x \"y\"","b":[1]}`,
		`{"a": "\ud83d\ude00 \ud83d x"}`: `{"a":"😀 ` + "\uFFFD" + ` x"}`,
	} {
		n, ok := (&laxjson.Reader{In: &laxjson.Text{S: in, Final: true}}).Value(0)
		if !ok || n.To != len(in) {
			t.Errorf("%s is not read", in)
			continue
		}
		if got := string(n.JSON("")); got != want {
			t.Errorf("%s is read as %s, want %s", in, got, want)
		}
	}
}

func TestBrokenValuesStayOpen(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		``, `{`, `{"a"`, `{"a":`, `{"a": 1`, `{"a": "b`, `[1, 2`, `{"a": 1 2}`, `{"a" 1}`, `{a: b}`, `{"a": 007}`,
		`{"a": 1_000}`, `{,}`,
		strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
	} {
		if n, ok := (&laxjson.Reader{In: &laxjson.Text{S: in, Final: true}}).Value(0); ok || !n.Open {
			t.Errorf("%.40s is read as %s", in, n.JSON(""))
		}
	}
}

func TestSealClosesOpenBrackets(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a": {"b": "c"`: `{"a":{"b":"c"}}`, `[1, [2`: `[1,[2]]`, `{"a": "b`: "",
	} {
		n, ok := (&laxjson.Reader{In: &laxjson.Text{S: in, Final: true}, Seal: true}).Value(0)
		if got := string(n.JSON("")); ok != (want != "") || ok && got != want {
			t.Errorf("%s is read as %s, want %s", in, got, want)
		}
	}
}

func TestReaderNeedsMoreOfAnIncompleteValue(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{"a": 1}`: false, `{"a": 1`: true, `{"a": "b"`: true, `{a 1`: false, `{"a": tr`: true,
	} {
		text := &laxjson.Text{S: in}
		(&laxjson.Reader{In: text}).Value(0)
		if text.NeedMore != want {
			t.Errorf("%s needs more: %v, want %v", in, text.NeedMore, want)
		}
	}
}

// FuzzValidJSON asserts that valid JSON keeps its meaning.
func FuzzValidJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, -2.5e3, true, false, null, "x\n\"\\\u00e9\ud83d\ude00"], "": {}}`,
		`["", "'", "“", ", ]", "\": "]`, `{"<|\"|>": "\"\"\""}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := (&laxjson.Reader{In: &laxjson.Text{S: text, Final: true}}).Value(0)
		if ok && !json.Valid(n.JSON("")) {
			t.Errorf("%q is read as %q, which is not JSON", text, n.JSON(""))
		}
		trimmed := strings.TrimSpace(text)
		if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' || !json.Valid([]byte(text)) {
			return
		}
		if strings.Count(text, "{")+strings.Count(text, "[") > laxjson.MaxDepth-2 {
			return
		}
		if !ok {
			t.Fatalf("%q is JSON, and is not read", text)
		}
		if diff := cmp.Diff(decode(t, []byte(text)), decode(t, n.JSON(""))); diff != "" {
			t.Errorf("%q is read as %q: %s", text, n.JSON(""), diff)
		}
	})
}

func decode(t *testing.T, data []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return v
}
