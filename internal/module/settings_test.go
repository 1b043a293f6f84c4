package module_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/module"
	"callgate/tool"
)

type settings struct {
	On      bool              `config:"on" help:"whether"`
	Count   int               `config:"count" range:"1,10"`
	Wait    module.Seconds    `config:"wait_seconds" range:"0,60"`
	Engine  string            `config:"engine" oneof:"left right"`
	Headers map[string]string `config:"headers"`
	Extra   map[string]any    `config:"extra"`
	Net     module.Switch     `config:"net" oneof:"direct"`
	Hosts   []string          `constraint:"allowed_hosts"`
}

func (s *settings) Check() error {
	if s.Count == 7 {
		return errors.New("seven is not wanted")
	}
	return nil
}

func defaults() *settings { return &settings{Count: 3} }

var demo = module.Module{Name: "demo", Settings: func() any { return defaults() }}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		config, constraints map[string]any
		want                *settings
		errHas              string
	}{
		"nothing": {nil, nil, defaults(), ""},
		"everything": {
			map[string]any{
				"on": true, "count": uint64(4), "wait_seconds": 1.5, "engine": "left",
				"headers": map[string]any{"a": "b"}, "extra": map[string]any{"x": []any{1}},
			},
			map[string]any{"allowed_hosts": []any{"a", "b"}},
			&settings{
				On: true, Count: 4, Wait: 1.5, Engine: "left", Headers: map[string]string{"a": "b"},
				Extra: map[string]any{"x": []any{1}}, Hosts: []string{"a", "b"},
			}, "",
		},
		"a switch":           {map[string]any{"net": true}, nil, &settings{Count: 3, Net: "true"}, ""},
		"a switch, off":      {map[string]any{"net": false}, nil, &settings{Count: 3, Net: "false"}, ""},
		"a switch, a word":   {map[string]any{"net": "direct"}, nil, &settings{Count: 3, Net: "direct"}, ""},
		"not a switch":       {map[string]any{"net": "true"}, nil, nil, "config.net: it must be true, false or direct"},
		"misspelt":           {map[string]any{"cuont": 1}, nil, nil, "did you mean count?"},
		"in the wrong block": {map[string]any{"allowed_hosts": []any{"a"}}, nil, nil, "config.allowed_hosts is not known"},
		"unknown constraint": {nil, map[string]any{"zzzzzz": 1}, nil, "the keys are allowed_hosts"},
		"not a bool":         {map[string]any{"on": "yes"}, nil, nil, "config.on: it must be true or false"},
		"too large":          {map[string]any{"count": 11}, nil, nil, "from 1 to 10"},
		"not whole":          {map[string]any{"count": 1.5}, nil, nil, "a whole number"},
		"not offered":        {map[string]any{"engine": "up"}, nil, nil, "one of left, right"},
		"not texts":          {nil, map[string]any{"allowed_hosts": []any{1}}, nil, "a list of texts"},
		"a nested list":      {nil, map[string]any{"allowed_hosts": []any{[]any{"a"}}}, nil, "a list of texts"},
		"mappings":           {nil, map[string]any{"allowed_hosts": []any{map[string]any{"a": 1, "b": 2}}}, nil, "a list of texts"},
		"not a table":        {map[string]any{"headers": map[string]any{"a": 1}}, nil, nil, "names and their texts"},
		"null":               {map[string]any{"on": nil}, nil, nil, "true or false"},
		"its own check":      {map[string]any{"count": 7}, nil, nil, "seven is not wanted"},
	} {
		got, err := demo.Read(c.config, c.constraints)
		if c.errHas != "" {
			if tool.KindOf(err) != tool.Invalid || !strings.Contains(whole(err), c.errHas) ||
				!strings.Contains(err.Error(), "tools.modules.demo") {
				t.Errorf("%s: error %v, want %q", name, whole(err), c.errHas)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// whole returns the message of an error and its hint.
func whole(err error) string {
	var e *tool.Error
	if errors.As(err, &e) {
		return e.Error() + " " + e.Hint
	}
	return fmt.Sprintf("%v, which is not a tool.Error", err)
}

func TestModuleWithoutSettings(t *testing.T) {
	bare := module.Module{Name: "bare"}
	if got, err := bare.Read(nil, nil); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := bare.Read(map[string]any{"a": 1}, nil); !strings.Contains(whole(err), "takes no config") {
		t.Errorf("error %v", err)
	}
}

func TestSettingsOf(t *testing.T) {
	given := &settings{Count: 9}
	if got := module.SettingsOf(tool.Grant{Settings: given}, defaults); got != given {
		t.Errorf("the settings of the grant were not used: %+v", got)
	}
	if got := module.SettingsOf(tool.Grant{}, defaults); got.Count != 3 {
		t.Errorf("without settings: %+v", got)
	}
}

// A host with a port needs quotes inside {…}, and the error says so.
func TestHostsWithPorts(t *testing.T) {
	for name, c := range map[string]struct{ text, errHas string }{
		"in quotes":         {`{allowed_hosts: ["localhost:13000", b]}`, ""},
		"in a block":        {"allowed_hosts:\n- localhost:13000\n- b\n", ""},
		"in a list":         {"allowed_hosts: [localhost:13000, b]", ""},
		"in a flow mapping": {"{allowed_hosts: [b, localhost:13000]}", `put "localhost:13000" in quotes`},
	} {
		t.Run(name, func(t *testing.T) {
			var constraints map[string]any
			if err := yaml.Unmarshal([]byte(c.text), &constraints); err != nil {
				t.Fatal(err)
			}
			got, err := demo.Read(nil, constraints)
			if c.errHas != "" {
				if !strings.Contains(whole(err), c.errHas) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"localhost:13000", "b"}, got.(*settings).Hosts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The fields of an embedded struct are settings of the module.
func TestEmbeddedSettings(t *testing.T) {
	type Shared struct {
		Agent string   `config:"agent" help:"a name"`
		Hosts []string `constraint:"hosts"`
	}
	type own struct {
		Count int `config:"count" range:"1,10"`
		Shared
	}
	m := module.Module{Name: "demo", Settings: func() any { return &own{Count: 1, Shared: Shared{Agent: "a"}} }}
	var keys []string
	for _, f := range m.Fields() {
		keys = append(keys, f.Key)
	}
	if diff := cmp.Diff([]string{"count", "agent", "hosts"}, keys); diff != "" {
		t.Error(diff)
	}
	got, err := m.Read(map[string]any{"count": 2, "agent": "b"}, map[string]any{"hosts": []any{"h"}})
	want := &own{Count: 2, Shared: Shared{Agent: "b", Hosts: []string{"h"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
