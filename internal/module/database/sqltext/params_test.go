package sqltext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/sqltext"
)

func TestParseParams(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want sqltext.Params
	}{
		"nothing":    {"", sqltext.Params{}},
		"null":       {" null ", sqltext.Params{}},
		"empty list": {"[]", sqltext.Params{List: []any{}}},
		"list": {
			`[null, true, false, "é\n", 1, 9223372036854775808, 0.1]`,
			sqltext.Params{List: []any{
				nil, true, false, "é\n", json.Number("1"), json.Number("9223372036854775808"), json.Number("0.1"),
			}},
		},
		"object":          {`{"a": 1, "b": null}`, sqltext.Params{Named: map[string]any{"a": json.Number("1"), "b": nil}}},
		"bytes":           {`[{"base64": "AAH/"}]`, sqltext.Params{List: []any{[]byte{0, 1, 255}}}},
		"bytes of a row":  {`[{"base64": "AAH/", "bytes": 3}]`, sqltext.Params{List: []any{[]byte{0, 1, 255}}}},
		"object as value": {`[{"base64": "AAH/", "x": 1}]`, sqltext.Params{List: []any{json.RawMessage(`{"base64": "AAH/", "x": 1}`)}}},
		"list as value":   {`[[1, "a"]]`, sqltext.Params{List: []any{json.RawMessage(`[1, "a"]`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sqltext.ParseParams(json.RawMessage(c.in))
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
	for _, bad := range []string{`[1`, `{"a"`, `7`, `"text"`, `[{"base64": "not base64!"}]`} {
		got, err := sqltext.ParseParams(json.RawMessage(bad))
		if err == nil {
			t.Errorf("%s is %v", bad, got)
		} else if text := err.Error(); strings.Contains(text, "Go ") || strings.Contains(text, "json:") ||
			strings.Contains(text, "illegal") || strings.Contains(text, "unexpected end") {
			t.Errorf("%s: %s; that is the decoder's word", bad, text)
		}
	}
}

// For any JSON, the parser returns values of the documented types or an error.
func FuzzParseParams(f *testing.F) {
	for _, s := range []string{`[1, "a", null, {"base64": "AA=="}]`, `{"x": [true]}`, `[[], {}]`, `nul`, `[`, `[ -1e9 ]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := sqltext.ParseParams(data)
		if err != nil {
			return
		}
		values := p.List
		for _, v := range p.Named {
			values = append(values, v)
		}
		for _, v := range values {
			switch v := v.(type) {
			case nil, bool, string, []byte:
			case json.Number:
				if !json.Valid([]byte(v)) {
					t.Fatalf("%q has the number %q", data, v)
				}
			case json.RawMessage:
				if !json.Valid(v) {
					t.Fatalf("%q has the value %q", data, v)
				}
			default:
				t.Fatalf("%q has a value of the type %T", data, v)
			}
		}
	})
}
