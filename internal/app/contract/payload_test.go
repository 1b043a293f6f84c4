package contract_test

import (
	"encoding/json"
	"testing"

	"callgate/internal/app/contract"
	"callgate/tool"
)

func TestPayload(t *testing.T) {
	t.Parallel()
	order := `{"type":"object","properties":{"count":{"type":"integer"},"note":{"type":"string"}},"required":["count"]}`
	for _, c := range []struct{ name, wants, body, want string }{
		{"it fits", order, `{"count": 3}`, `{"count": 3}`},
		{"a number in quotes", order, `{"count":"3"}`, `{"count":3}`},
		{"a text", `{"type":"string"}`, "two pens", "two pens"},
		{"nothing, and nothing is wanted", `{"type":"object"}`, "", "{}"},
		{"nothing", order, "", ""},
		{"a list", order, "[]", ""},
		{"half of it", order, `{"count":`, ""},
		{"two values", order, `{"count":1}{"count":2}`, ""},
	} {
		got, err := contract.Payload(json.RawMessage(c.wants), []byte(c.body))
		if c.want == "" && tool.KindOf(err) != tool.Invalid || c.want != "" && (err != nil || string(got) != c.want) {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
}

// Whatever is sent, what is taken fits, and is taken again as it is.
func FuzzPayload(f *testing.F) {
	wants := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string","default":"x"}},"required":["n"]}`)
	for _, body := range []string{"", "x", `{"n":1}`, `{"n":"1","s":null}`, `"{\"n\":1}"`, "[", "\xff"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := contract.Payload(wants, body)
		if err != nil {
			return
		}
		again, err := contract.Payload(wants, got)
		if err != nil || string(again) != string(got) {
			t.Errorf("%q becomes %q, and that %q, %v", body, got, again, err)
		}
	})
}
