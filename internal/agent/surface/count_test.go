package surface

import "testing"

// The widths are those of Python 3's len(json.dumps(json.loads(text))).
func TestPythonJSONLen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{}`:                           2,
		`{"a":1,"b":[1,2,{"c":null}]}`: 34,
		`"plain"`:                      7,
		`"é"`:                          8,
		`"日本語"`:                        20,
		`"😀"`:                          14,
		`"\ud83d\ude00"`:               14,
		`"\u0041\u00e9\/"`:             10,
		`"a\nb\t\"\\"`:                 12,
		"\"\x7f\"":                     8,
		`"\u0001\b\f"`:                 12,
		`"\ud800"`:                     8,
		`{"a:b,c":"x, y: z"}`:          20,
		`-1.5`:                         4,
		`"<&>\u003c\u2028"`:            12,
		`{"type":"function","function":{"name":"x","description":"Größe, 大小","parameters":{"type":"object"}}}`: 129,
	} {
		if got := pythonJSONLen([]byte(text)); got != want {
			t.Errorf("%s is %d wide, want %d", text, got, want)
		}
	}
}
