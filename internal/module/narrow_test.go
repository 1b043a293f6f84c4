package module_test

import (
	"reflect"
	"testing"

	"callgate/internal/module"
	"callgate/tool"
)

type narrowed struct {
	Page     string        `config:"page"`
	Network  module.Switch `config:"network" narrower:"false" oneof:"direct"`
	Readable []string      `config:"readable" narrower:"fewer"`
	ReadOnly bool          `constraint:"read_only"`
	Force    bool          `constraint:"allow_force" narrower:"false"`
	Most     int           `constraint:"max_items" range:"1,100"`
	Hosts    []string      `constraint:"allowed_hosts"`
	Denied   []string      `constraint:"denied_hosts" narrower:"more"`
	Private  []string      `constraint:"private_hosts" narrower:"fewer"`
}

// Each key is what it was, or what it is where that is narrower, defaults included.
func TestNarrower(t *testing.T) {
	t.Parallel()
	m := module.Module{Name: "demo", Settings: func() any { return &narrowed{Most: 10} }}
	list := func(texts ...any) []any { return append([]any{}, texts...) }
	for name, c := range map[string]struct {
		was, now, want map[string]any // keys of either block
		refused        bool
	}{
		"nothing":                {nil, nil, map[string]any{}, false},
		"a page is not compared": {map[string]any{"page": "a"}, map[string]any{"page": "b"}, map[string]any{"page": "a"}, false},
		"read_only":              {nil, map[string]any{"read_only": true}, map[string]any{"read_only": true}, false},
		"no longer read_only":    {map[string]any{"read_only": true}, nil, map[string]any{"read_only": true}, false},
		"force is taken":         {map[string]any{"allow_force": true}, nil, map[string]any{"allow_force": false}, false},
		"force is given":         {nil, map[string]any{"allow_force": true}, map[string]any{}, false},
		"fewer items":            {nil, map[string]any{"max_items": 3}, map[string]any{"max_items": int64(3)}, false},
		"the default is fewer":   {map[string]any{"max_items": 50}, nil, map[string]any{"max_items": int64(10)}, false},
		"more items":             {nil, map[string]any{"max_items": 90}, map[string]any{}, false},
		"hosts are named":        {nil, map[string]any{"allowed_hosts": list("a")}, map[string]any{"allowed_hosts": list("a")}, false},
		"hosts are not named":    {map[string]any{"allowed_hosts": list("a")}, nil, map[string]any{"allowed_hosts": list("a")}, false},
		"some hosts": {map[string]any{"allowed_hosts": list("a", "b")}, map[string]any{"allowed_hosts": list("b", "c")},
			map[string]any{"allowed_hosts": list("b")}, false},
		"other hosts": {map[string]any{"allowed_hosts": list("a")}, map[string]any{"allowed_hosts": list("c")}, nil, true},
		"more denied": {map[string]any{"denied_hosts": list("a")}, map[string]any{"denied_hosts": list("b")},
			map[string]any{"denied_hosts": list("a", "b")}, false},
		"private hosts are gone": {map[string]any{"private_hosts": list("a", "b")}, nil, map[string]any{"private_hosts": list()}, false},
		"private hosts are new":  {nil, map[string]any{"private_hosts": list("a")}, map[string]any{}, false},
		"a folder is gone": {map[string]any{"readable": list("/a", "/b")}, map[string]any{"readable": list("/b")},
			map[string]any{"readable": list("/b")}, false},
		"the network is smaller": {map[string]any{"network": "direct"}, map[string]any{"network": true}, map[string]any{"network": true}, false},
		"the network is gone":    {map[string]any{"network": true}, nil, map[string]any{"network": false}, false},
		"the network is larger":  {nil, map[string]any{"network": "direct"}, map[string]any{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wasConfig, wasConstraints := blocks(&m, c.was)
			nowConfig, nowConstraints := blocks(&m, c.now)
			config, constraints, err := m.Narrower(wasConfig, wasConstraints, nowConfig, nowConstraints)
			if c.refused {
				if tool.KindOf(err) != tool.Invalid {
					t.Errorf("%v, %v, %v", config, constraints, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Read(config, constraints); err != nil {
				t.Errorf("what is left cannot be read: %v", err)
			}
			wantConfig, wantConstraints := blocks(&m, c.want)
			if !same(config, wantConfig) || !same(constraints, wantConstraints) {
				t.Errorf("%v %v, want %v", config, constraints, c.want)
			}
		})
	}
}

func same(a, b map[string]any) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// blocks tells which of the keys stand under config and which under constraints.
func blocks(m *module.Module, keys map[string]any) (config, constraints map[string]any) {
	config, constraints = map[string]any{}, map[string]any{}
	for _, f := range m.Fields() {
		if value, ok := keys[f.Key]; ok && f.Constraint {
			constraints[f.Key] = value
		} else if ok {
			config[f.Key] = value
		}
	}
	return config, constraints
}

// A session's own blocks stay as they were.
func TestNarrowerCopies(t *testing.T) {
	t.Parallel()
	m := module.Module{Name: "demo", Settings: func() any { return &narrowed{} }}
	own := map[string]any{"read_only": false}
	if _, _, err := m.Narrower(nil, own, nil, map[string]any{"read_only": true}); err != nil || own["read_only"] != false {
		t.Errorf("%v, %v", own, err)
	}
}
