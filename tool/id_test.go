package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/tool"
)

func TestParseID(t *testing.T) {
	for _, c := range []struct{ in, want, errHas string }{
		{"orxa:summarize@1.0.0", "orxa:summarize@1.0.0", ""},
		{"choir.fs:read@1.0", "choir.fs:read@1.0.0", ""},
		{"a-b_c:d-e_f@10.20.30", "a-b_c:d-e_f@10.20.30", ""},
		{"a:b@1", "a:b@1.0.0", ""},
		{"", "", "namespace:name@1.2.3"},
		{"a:b", "", "namespace:name@1.2.3"},
		{"a.b@1.0.0", "", "namespace:name@1.2.3"},
		{"A:b@1.0.0", "", `namespace "A"`},
		{"a:B@1.0.0", "", `name "B"`},
		{"a:b.c@1.0.0", "", `name "b.c"`},
		{"a..b:c@1.0.0", "", "namespace"},
		{".a:c@1.0.0", "", "namespace"},
		{"a:b@1.0.0-rc1", "", `version "1.0.0-rc1"`},
		{"a:b@01.0.0", "", "version"},
		{"a:b@99999999999999999999.0.0", "", "too large"},
		{"a:" + strings.Repeat("b", 300) + "@1.0.0", "", "name"},
	} {
		id, err := tool.ParseID(c.in)
		if c.errHas == "" {
			if err != nil || id.String() != c.want {
				t.Errorf("ParseID(%q) = %v, %v; want %s", c.in, id, err, c.want)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.errHas) || tool.KindOf(err) != tool.Invalid {
			t.Errorf("ParseID(%.40q) = %v, %v; want an Invalid error with %q", c.in, id, err, c.errHas)
		}
		if _, ok := tool.TryParseID(c.in); ok != (c.errHas == "") {
			t.Errorf("TryParseID(%.40q) = %v", c.in, ok)
		}
	}
}

func TestNewIDNamesThePartThatIsWrong(t *testing.T) {
	for part, parts := range map[string][3]string{
		"namespace": {"Bad Space", "ok", "1.0.0"},
		"name":      {"ok", "bad name", "1.0.0"},
		"version":   {"ok", "ok", "one"},
	} {
		if _, err := tool.NewID(parts[0], parts[1], parts[2]); err == nil || !strings.HasPrefix(err.Error(), part) {
			t.Errorf("a bad %s gave %v", part, err)
		}
	}
}

func TestRefMatches(t *testing.T) {
	versions := []string{"1.0.0", "1.2.0", "1.2.5", "1.9.0", "2.0.0"}
	for ref, want := range map[string]string{
		"a:b":         "1.0.0 1.2.0 1.2.5 1.9.0 2.0.0",
		"a:b@latest":  "1.0.0 1.2.0 1.2.5 1.9.0 2.0.0",
		"a:b@1.2.0":   "1.2.0",
		"a:b@1.2":     "1.2.0",
		"a:b@^1.2":    "1.2.0 1.2.5 1.9.0",
		"a:b@~1":      "1.0.0 1.2.0 1.2.5 1.9.0",
		"a:b@~1.2":    "1.2.0 1.2.5",
		"a:b@>=1.9":   "1.9.0 2.0.0",
		"a:b@>=1 <2":  "1.0.0 1.2.0 1.2.5 1.9.0",
		"a:other@^1":  "",
		"other:b@1.0": "",
	} {
		r, err := tool.ParseRef(ref)
		if err != nil {
			t.Errorf("ParseRef(%q): %v", ref, err)
			continue
		}
		var got []string
		for _, v := range versions {
			id, _ := tool.NewID("a", "b", v)
			if r.Matches(id) {
				got = append(got, v)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s matches %v, want %s", ref, got, want)
		}
	}
	for _, bad := range []string{"", "a", "a.b", "A:b", "a:b@", "a:b@nonsense", "a:b@^" + strings.Repeat("1", 400)} {
		if _, err := tool.ParseRef(bad); tool.KindOf(err) != tool.Invalid {
			t.Errorf("ParseRef(%.20q) gave %v", bad, err)
		}
	}
}

func TestWithoutVersion(t *testing.T) {
	for in, want := range map[string]string{"a.b:c@1.2.3": "a.b:c", "not an id": "not an id", "a:b": "a:b"} {
		if got := tool.WithoutVersion(in); got != want {
			t.Errorf("WithoutVersion(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestIDInJSON(t *testing.T) {
	type box struct{ ID tool.ID }
	id, _ := tool.ParseID("choir.fs:read@1.2.3")
	for _, in := range []box{{id}, {}} {
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out box
		if err := json.Unmarshal(data, &out); err != nil || out != in {
			t.Errorf("%s came back as %v, %v", data, out, err)
		}
	}
}

// FuzzID: what parses is written back so that it parses to the same, and its
// dotted and wire names lead back to it.
func FuzzID(f *testing.F) {
	for _, s := range []string{"a:b@1.0.0", "choir.fs:read@1.0", "a__b.c:d__e@0.0.1", "x:_@1.1", "a:" + strings.Repeat("n", 200) + "@1.0.0", "a_.b:c@1", ":@", "a:b_12345678@1.0.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := tool.ParseID(s)
		if err != nil {
			return
		}
		again, err := tool.ParseID(id.String())
		if err != nil || again != id {
			t.Fatalf("%q → %s → %v, %v", s, id, again, err)
		}
		namespace, name, err := tool.ParseDotted(id.Dotted())
		if err != nil || namespace != id.Namespace || name != id.Name {
			t.Fatalf("%s: dotted %s → %q %q %v", id, id.Dotted(), namespace, name, err)
		}
		checkWire(t, id.Dotted())
	})
}

// FuzzWire: any name at all has a wire name that is legal, and a table leads
// back from it, however hostile its neighbours.
func FuzzWire(f *testing.F) {
	f.Add("a.b", "a__b")
	f.Add("a__b", "a.b")
	f.Add("a_.b", "a._b")
	f.Add("été", "ete")
	f.Add("", ".")
	f.Add(strings.Repeat("x.", 100), strings.Repeat("x.", 101))
	f.Fuzz(func(t *testing.T, one, two string) {
		checkWire(t, one)
		hostile := tool.WireName(two) // a tool that bears another's wire name
		names := []string{one, two, hostile, strings.ReplaceAll(one, ".", "__")}
		table := tool.NewWireTable(names)
		seen := map[string]string{}
		for _, name := range names {
			wire, ok := table.Wire(name)
			if !ok {
				t.Fatalf("%q has no wire name", name)
			}
			if other, taken := seen[wire]; taken && other != name {
				t.Fatalf("%q and %q share the wire name %q", name, other, wire)
			}
			seen[wire] = name
			if back, ok := table.Dotted(wire); !ok || back != name {
				t.Fatalf("%q → %q → %q", name, wire, back)
			}
			legalWire(t, wire)
		}
	})
}

func checkWire(t *testing.T, dotted string) {
	t.Helper()
	wire := tool.WireName(dotted)
	legalWire(t, wire)
	if back, ok := tool.FromWire(wire); ok && back != dotted {
		t.Fatalf("%q → %q reads back as %q", dotted, wire, back)
	}
}

func legalWire(t *testing.T, wire string) {
	t.Helper()
	if wire == "" || len(wire) > tool.MaxWire {
		t.Fatalf("wire name %q has %d bytes", wire, len(wire))
	}
	for _, c := range []byte(wire) {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", rune(c)) {
			t.Fatalf("wire name %q holds %q", wire, c)
		}
	}
}

func TestWireName(t *testing.T) {
	for dotted, want := range map[string]string{
		"filesystem.read": "filesystem__read",
		"choir.fs.read":   "choir__fs__read",
		"a_b.c-d":         "a_b__c-d",
	} {
		if got := tool.WireName(dotted); got != want {
			t.Errorf("WireName(%q) = %q, want %q", dotted, got, want)
		}
		if back, ok := tool.FromWire(want); !ok || back != dotted {
			t.Errorf("FromWire(%q) = %q, %v", want, back, ok)
		}
	}
	// Names that cannot be written plainly stay apart.
	apart := []string{"a.b", "a__b", "a_.b", "a._b", "a...b", strings.Repeat("a", 65), strings.Repeat("a", 66), "a.é", "a.è"}
	seen := map[string]string{}
	for _, dotted := range apart {
		wire := tool.WireName(dotted)
		if other := seen[wire]; other != "" {
			t.Errorf("%q and %q share %q", dotted, other, wire)
		}
		seen[wire] = dotted
	}
	one := tool.NewWireTable(apart)
	reversed := tool.NewWireTable([]string{apart[8], apart[7], apart[6], apart[5], apart[4], apart[3], apart[2], apart[1], apart[0]})
	for _, dotted := range apart {
		a, _ := one.Wire(dotted)
		b, _ := reversed.Wire(dotted)
		if a != b {
			t.Errorf("the wire name of %q depends on the order: %q, %q", dotted, a, b)
		}
	}
}
