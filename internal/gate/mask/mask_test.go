package mask_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"callgate/internal/gate/mask"
)

func maskOf(s string) string {
	return regexp.MustCompile(`sk-\w+|(?i)\bpassword=\S+`).ReplaceAllString(s, "[masked]")
}

func TestMaskJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nothing to mask":       {` { "a" : [1, "<x>", null] } `, ` { "a" : [1, "<x>", null] } `},
		"a string":              {`"sk-1"`, `"[masked]"`},
		"inside a string":       {`["a sk-1 b", "c"]`, `["a [masked] b", "c"]`},
		"escaped":               {`{"k": "sk\u002d1"}`, `{"k": "[masked]"}`},
		"under a name":          {`{"password" : "x", "b": 2}`, `{"password" : "[masked]", "b": 2}`},
		"a number under a name": {`{"password":123 ,"b":2}`, `{"password":"[masked]" ,"b":2}`},
		"a list under a name":   {`{"password":["x",1],"b":["y"]}`, `{"password":["[masked]","[masked]"],"b":["y"]}`},
		"an object under it":    {`{"password":{"b":"y"}}`, `{"password":{"b":"y"}}`},
		"a value that is it":    {`{"a":"password","b":"y"}`, `{"a":"password","b":"y"}`},
		"after an object":       {`{"a":{"b":{}},"Password":"x"}`, `{"a":{"b":{}},"Password":"[masked]"}`},
		"masked already":        {`{"password":"[masked]"}`, `{"password":"[masked]"}`},
		"not JSON":              {`{"password":`, `{"password":`},
	} {
		if got := string(mask.JSON(json.RawMessage(c.in), maskOf)); got != c.want {
			t.Errorf("%s: %s became %s, want %s", name, c.in, got, c.want)
		}
	}
}

func FuzzMaskJSON(f *testing.F) {
	f.Add(`{"password":["x",{"a":"sk-1"}],"b":[1,"sk-2"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		got := string(mask.JSON(json.RawMessage(text), maskOf))
		if !json.Valid([]byte(text)) {
			if got != text {
				t.Errorf("%q is not JSON and became %q", text, got)
			}
			return
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%q became %q", text, got)
		}
		if again := string(mask.JSON(json.RawMessage(got), maskOf)); again != got {
			t.Errorf("%q became %q, and then %q", text, got, again)
		}
		if !strings.Contains(maskOf(text), "[masked]") && !strings.ContainsAny(text, "\\pP") && got != text {
			t.Errorf("%q has no secret and became %q", text, got)
		}
	})
}
