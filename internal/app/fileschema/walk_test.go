package fileschema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/app/fileschema"
)

// spot is a place in the schema, and how a file comes to have a value there.
type spot struct {
	path string // as package app writes it in its messages
	node map[string]any
	wrap func(any) any // a whole file with this value at the path
	keys []string      // that lead to this form of the value
}

// walk visits every place of the schema; what leads back into itself once.
func walk(t testing.TB, known app.KnownModules, visit func(spot)) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(fileschema.JSONSchema(known), &root); err != nil {
		t.Fatal(err)
	}
	w := walker{defs: root["$defs"].(map[string]any), visit: visit}
	w.walk(spot{node: root, wrap: func(v any) any { return v }})
}

type walker struct {
	defs  map[string]any
	inner []string // the definitions that are being walked
	visit func(spot)
}

func (w *walker) walk(s spot) {
	if to, ok := s.node["$ref"].(string); ok {
		name := strings.TrimPrefix(to, "#/$defs/")
		if slices.Contains(w.inner, name) || strings.HasPrefix(name, "action_of_") {
			return
		}
		w.inner = append(w.inner, name)
		s.node = w.defs[name].(map[string]any)
		w.walk(s)
		w.inner = w.inner[:len(w.inner)-1]
		return
	}
	w.visit(s)
	properties, _ := s.node["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		w.under(s, name, properties[name], func(v any) any {
			block := company(s.node, name)
			block[name] = v
			return block
		})
	}
	if of, ok := s.node["additionalProperties"].(map[string]any); ok {
		w.under(s, "demo", of, func(v any) any { return map[string]any{"demo": v} })
	}
	for _, of := range asMap(s.node["patternProperties"]) {
		server := map[string]any{"config": map[string]any{"servers": map[string]any{"demo": map[string]any{"command": "x"}}}}
		w.under(s, "mcp_demo", of, func(v any) any { return map[string]any{"mcp": server, "mcp_demo": v} })
	}
	if items, ok := s.node["items"].(map[string]any); ok {
		w.walk(spot{path: s.path + "[0]", node: items, wrap: func(v any) any { return s.wrap([]any{v}) }})
	}
	w.forms(s)
}

// forms walks the other forms that a value may have.
func (w *walker) forms(s spot) {
	var all []any
	for _, word := range []string{"anyOf", "allOf", "oneOf"} {
		if list, ok := s.node[word].([]any); ok {
			all = append(all, list...)
		}
	}
	for _, form := range append(all, s.node["else"]) {
		if form, ok := form.(map[string]any); ok {
			w.walk(spot{path: s.path, node: form, wrap: s.wrap})
		}
	}
	if then, ok := s.node["then"].(map[string]any); ok {
		w.walk(spot{path: s.path, node: then, wrap: s.wrap, keys: texts(asMap(s.node["if"])["required"])})
	}
}

// company is what must stand beside a key for its block to be right.
func company(block map[string]any, name string) map[string]any {
	offline := map[string]any{"provider": "offline"}
	samples := map[string]any{
		"id": "a", "command": "x", "path": "skills/tone.md", "module": "*", "resource": "r", "mode": "S", "ref": "r",
		"url": "http://x", "seconds": 1, "block": []any{"x"}, "action": "x", "provider": "offline", "edge": offline, "core": offline, "workdir": "x",
		"type": "webhook",
	}
	wanted := texts(block["required"])
	wanted = append(wanted, texts(asMap(block["dependentRequired"])[name])...)
	properties := asMap(block["properties"])
	switch {
	case properties["provider_id"] != nil:
		wanted = append(wanted, "provider")
	case properties["transport"] != nil && name != "url":
		wanted = append(wanted, "command")
	case properties["workdir"] != nil:
		wanted = append(wanted, "workdir")
	}
	beside := map[string]any{}
	for _, key := range wanted {
		beside[key] = samples[key]
	}
	return beside
}

func (w *walker) under(s spot, name string, node any, wrap func(any) any) {
	path := strings.TrimPrefix(s.path+"."+name, ".")
	w.walk(spot{path: path, node: node.(map[string]any), wrap: func(v any) any { return s.wrap(wrap(v)) }})
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

func texts(v any) []string {
	var all []string
	list, _ := v.([]any)
	for _, one := range list {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

// told is what package app says of a file, without the lines that it quotes.
func told(t testing.TB, known app.KnownModules, file any) string {
	t.Helper()
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.Parse("callgate.yaml", text, known)
	if err == nil {
		return ""
	}
	return regexp.MustCompile(`(?m)^ *\d* \|.*\n`).ReplaceAllString(err.Error(), "")
}

const bogus = "zzzzzzzz"

var listed = regexp.MustCompile(
	`has no key "zzzzzzzz"\n +=(?: the keys of .* are (.*)|.* takes no keys)|this module takes no settings|there is no (?:middleware|module) "zzzzzzzz".*\n +=.* (?:is|are) (.*)`,
)

// A key that package app reads and an editor does not know, or the reverse, is
// found by asking package app for the keys of each block.
func TestKeysAreThoseThatAreRead(t *testing.T) {
	known := known(t)
	apart := map[string][]string{ // what package app reads in order to refuse it, or does not list
		"tools.modules":                         {"mcp", "openapi"},
		"tools.modules.mcp.config.servers.demo": {"type"},
		"tools.modules.mcp_demo":                {"credential"},
	}
	for name, m := range known {
		if !m.Credential {
			apart["tools.modules."+name] = []string{"credential"}
		}
	}
	blocks := 0
	walk(t, known, func(s spot) {
		if s.node["additionalProperties"] != false {
			return
		}
		blocks++
		value := map[string]any{bogus: 1}
		for _, key := range s.keys {
			value[key] = nil
		}
		message := told(t, known, s.wrap(value))
		m := listed.FindStringSubmatch(message)
		if m == nil {
			t.Errorf("%s: package app does not tell its keys:\n%s", s.path, message)
			return
		}
		read := strings.FieldsFunc(m[1]+m[2], func(c rune) bool { return c == ',' || c == ' ' })
		shown := slices.Sorted(maps.Keys(asMap(s.node["properties"])))
		for _, key := range read {
			if !slices.Contains(shown, key) && !slices.Contains(apart[s.path], key) {
				t.Errorf("%s.%s is read and not in the schema", s.path, key)
			}
		}
		for _, key := range shown {
			if !slices.Contains(read, key) && !slices.Contains(apart[s.path], key) {
				t.Errorf("%s.%s is in the schema and not read", s.path, key)
			}
		}
	})
	if blocks < 60 {
		t.Errorf("only %d blocks were found", blocks)
	}
}

func TestEveryKeyIsExplained(t *testing.T) {
	walk(t, known(t), func(s spot) {
		if s.node["additionalProperties"] != false {
			return
		}
		for name, of := range asMap(s.node["properties"]) {
			title, help := fmt.Sprint(asMap(of)["title"]), fmt.Sprint(asMap(of)["description"])
			if !strings.HasSuffix(title, name) || len(help) < 10 && !strings.HasPrefix(s.path, "tools.modules.open.") {
				t.Errorf("%s.%s: %q, %q", s.path, name, title, help)
			}
		}
	})
}

// complains reports whether package app finds fault with a value at its place.
func complains(t testing.TB, known app.KnownModules, s spot, value any) bool {
	t.Helper()
	message := told(t, known, s.wrap(value))
	return strings.Contains(message, s.path+" ") || strings.Contains(message, s.path+":") || strings.Contains(message, bogus)
}

func TestBoundsAreThoseThatAreRead(t *testing.T) {
	known := known(t)
	count := 0
	walk(t, known, func(s spot) {
		least, bounded := s.node["minimum"].(float64)
		if !bounded {
			return
		}
		count++
		most := s.node["maximum"].(float64)
		for value, wrong := range map[float64]bool{least: false, most: false, least - 1: true, most + 1: true} {
			if got := complains(t, known, s, value); got != wrong {
				t.Errorf("%s: %v: %v\n%s", s.path, value, got, told(t, known, s.wrap(value)))
			}
		}
	})
	if count < 30 {
		t.Errorf("only %d bounds were found", count)
	}
}

func TestWordsAreThoseThatAreRead(t *testing.T) {
	known := known(t)
	count := 0
	walk(t, known, func(s spot) {
		forms, _ := s.node["anyOf"].([]any)
		if len(forms) != 2 || asMap(forms[0])["enum"] == nil || asMap(forms[1])["pattern"] != `\{\{` {
			return
		}
		count++
		// What goes with these words is written beside them.
		incomplete := map[string]bool{"runtime.workdir_mode: fixed": true, "runtime.mode: pipeline": true}
		for _, word := range append(texts(asMap(forms[0])["enum"]), bogus) {
			if got := complains(t, known, s, word); got != (word == bogus) && !incomplete[s.path+": "+word] {
				t.Errorf("%s: %s: %v\n%s", s.path, word, got, told(t, known, s.wrap(word)))
			}
		}
	})
	if count < 20 {
		t.Errorf("only %d words were found", count)
	}
}

// What package app takes, an editor does not mark: tried with values of every
// kind at every place.
func TestWhatIsReadIsNotMarked(t *testing.T) {
	known := known(t)
	s := compiled(t, known)
	values := []any{
		nil, "", " ", "x", "X y", "*", "1", "30s", "1h0.5m", "/x", "a.b", "https://x", "{{workdir}}", "{{workdir}}/x", "skills/tone.md", strings.Repeat("é", 100),
		0, 1, 2, 60, 1000, -1, 0.5, 1e9, true, false,
		[]any{}, []any{"x"}, []any{"{{workdir}}"}, []any{1}, []any{nil}, []any{[]any{}}, []any{map[string]any{}},
		map[string]any{}, map[string]any{"x": "x"}, map[string]any{"x": 1}, map[string]any{"x": nil}, map[string]any{"x": []any{}}, map[string]any{"x": map[string]any{}},
	}
	read, done := 0, map[string]bool{}
	walk(t, known, func(at spot) {
		same, _ := json.Marshal(at.node) // as at a place that was tried, or it has another title
		if done[string(same)] {
			return
		}
		done[string(same)] = true
		for _, value := range values {
			text, err := json.Marshal(at.wrap(value))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.Parse("../testdata/apps/callgate.yaml", text, known); err != nil {
				continue
			}
			read++
			if err := validate(t, s, text); err != nil {
				t.Errorf("%s: %v\n%s", at.path, err, text)
			}
		}
	})
	if read < 1000 {
		t.Errorf("only %d files were right", read)
	}
}
