package definition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/source/mcp/trust/definition"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestHash(t *testing.T) {
	t.Parallel()
	base := definition.Definition{Name: "add", Description: "Adds.", Input: raw(`{"type":"object","properties":{"a":{"maximum":1.0},"b":{}}}`)}
	for name, c := range map[string]struct {
		change func(*definition.Definition)
		same   bool
	}{
		"nothing": {func(*definition.Definition) {}, true},
		"key order": {func(d *definition.Definition) {
			d.Input = raw(`{"properties":{"b":{},"a":{"maximum":1.0}},"type":"object"}`)
		}, true},
		"white space": {func(d *definition.Definition) {
			d.Input = raw(" {\n\t\"type\" : \"object\", \"properties\":{ \"a\":{\"maximum\":1.0},\"b\":{ } } }\r\n")
		}, true},
		"spelling of a text": {func(d *definition.Definition) {
			d.Input = raw(`{"type":"\u006fbject","properties":{"a":{"maximum":1.0},"b":{}}}`)
		}, true},
		"null for absent": {func(d *definition.Definition) { d.Output, d.Annotations = raw("null"), raw(" null ") }, true},
		"name":            {func(d *definition.Definition) { d.Name = "add2" }, false},
		"title":           {func(d *definition.Definition) { d.Title = "Add" }, false},
		"description":     {func(d *definition.Definition) { d.Description += "\u200b" }, false},
		"a blank":         {func(d *definition.Definition) { d.Description += " " }, false},
		"moved text":      {func(d *definition.Definition) { d.Title, d.Description = "Adds.", "" }, false},
		"number": {func(d *definition.Definition) {
			d.Input = raw(`{"type":"object","properties":{"a":{"maximum":2.0},"b":{}}}`)
		}, false},
		"order in an array": {func(d *definition.Definition) {
			d.Input = raw(`{"type":"object","properties":{"a":{"maximum":1.0},"b":{}},"required":[]}`)
		}, false},
		"key twice": {func(d *definition.Definition) {
			d.Input = raw(`{"type":"x","type":"object","properties":{"a":{"maximum":1.0},"b":{}}}`)
		}, false},
		"annotations":     {func(d *definition.Definition) { d.Annotations = raw(`{"readOnlyHint":true}`) }, false},
		"input as output": {func(d *definition.Definition) { d.Input, d.Output = nil, d.Input }, false},
		"not JSON":        {func(d *definition.Definition) { d.Input = raw(`{`) }, false},
	} {
		changed := base
		c.change(&changed)
		if got := base.Hash() == changed.Hash(); got != c.same {
			t.Errorf("%s: same hash is %v", name, got)
		}
		if got := definition.Diff(base, changed) == ""; got != c.same {
			t.Errorf("%s: the diff is\n%s", name, definition.Diff(base, changed))
		}
	}
	big := definition.Definition{Name: "n", Input: raw(`{"maximum":9007199254740993}`)}
	near := definition.Definition{Name: "n", Input: raw(`{"maximum":9007199254740992}`)}
	if big.Hash() == near.Hash() {
		t.Error("two numbers that are one in floating point have one hash")
	}
}

func TestHashAsText(t *testing.T) {
	t.Parallel()
	h := definition.HashWords([]string{"npx", "-y", "server"})
	text, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back definition.Hash
	if err := back.UnmarshalText(text); err != nil || back != h {
		t.Errorf("%s came back as %s, %v", h, back, err)
	}
	for _, bad := range []string{"", "ab", strings.Repeat("g", 64), string(text) + "00"} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a hash", bad)
		}
	}
	if definition.HashWords([]string{"a b"}) == definition.HashWords([]string{"a", "b"}) {
		t.Error("a word with a blank is not two words")
	}
}

func TestUnfit(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 250) + strings.Repeat("]", 250)
	for name, c := range map[string]struct {
		d    definition.Definition
		want string
	}{
		"fit":        {definition.Definition{Name: "a", Input: raw(`{"a":[{"b":1},{"b":2}]}`)}, ""},
		"no name":    {definition.Definition{}, "no name"},
		"bytes":      {definition.Definition{Name: "a", Title: "\xff"}, "UTF-8"},
		"huge":       {definition.Definition{Name: "a", Description: strings.Repeat("x", 300<<10)}, "longer"},
		"blank JSON": {definition.Definition{Name: "a", Output: raw(" ")}, "output cannot be read"},
		"bad JSON":   {definition.Definition{Name: "a", Annotations: raw("{}{}")}, "annotations cannot be read"},
		"deep":       {definition.Definition{Name: "a", Input: raw(deep)}, "deeper"},
		"twice":      {definition.Definition{Name: "a", Input: raw(`{"x":{"k":1,"k":2}}`)}, "twice"},
		"twice, large": {definition.Definition{Name: "a",
			Input: raw(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"\u0061":2}`)}, "twice"},
	} {
		got := c.d.Problem(c.d.Parts())
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
