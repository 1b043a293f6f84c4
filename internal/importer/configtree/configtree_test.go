package configtree_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/importer/configtree"
)

type (
	value  = configtree.Value
	member = configtree.Member
)

func text(s string) value { return value{Kind: configtree.Text, Text: s} }

func list(items ...value) value { return value{Kind: configtree.List, Items: items} }

// object makes an object of names and values in turn.
func object(pairs ...any) value {
	v := value{Kind: configtree.Object}
	for i := 0; i < len(pairs); i += 2 {
		v.Members = append(v.Members, member{Name: pairs[i].(string), Value: pairs[i+1].(value)})
	}
	return v
}

func TestGet(t *testing.T) {
	t.Parallel()
	v := object("a", text("first"), "b", text("x"), "a", text("second"))
	if got := v.Get("a"); got == nil || got.Text != "first" {
		t.Errorf("a is %v", got)
	}
	if v.Get("c") != nil || (*value)(nil).Get("a") != nil {
		t.Error("found what is not there")
	}
	scalar := text("a")
	if scalar.Get("a") != nil {
		t.Error("a text has members")
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	v := object("a", text("1"), "b", text("2"), "b", text("3"), "a", text("4"))
	if m, ok := v.Duplicate(); !ok || m.Value.Text != "3" {
		t.Errorf("the first duplicate is %v %v", m, ok)
	}
	if m, ok := v.SecondMember("a"); !ok || m.Value.Text != "4" {
		t.Errorf("the second a is %v %v", m, ok)
	}
	unique := object("a", text("1"), "b", text("2"))
	if m, ok := unique.Duplicate(); ok {
		t.Errorf("a duplicate where none is: %v", m)
	}
	if m, ok := unique.SecondMember("a"); ok {
		t.Errorf("a second member where none is: %v", m)
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	at := func(v value) value { v.From, v.To = 7, 9; return v }
	servers := func(v value, rest ...any) value {
		return object(append([]any{"mcp", object("servers", v)}, rest...)...)
	}
	tests := []struct {
		name   string
		a, b   value
		except []string
		want   bool
	}{
		{"positions do not count", text("x"), at(text("x")), nil, true},
		{"another text", text("x"), text("y"), nil, false},
		{"another kind", text("1"), value{Kind: configtree.Number, Text: "1"}, nil, false},
		{"a list", list(text("x")), list(text("x")), nil, true},
		{"a longer list", list(text("x")), list(text("x"), text("y")), nil, false},
		{"another item", list(text("x")), list(text("y")), nil, false},
		{"members in another order", object("a", text("1"), "b", text("2")), object("b", text("2"), "a", text("1")), nil, false},
		{"the end of the path", servers(text("x")), servers(text("y")), []string{"mcp", "servers"}, true},
		{"beside the path", servers(text("x"), "b", text("1")), servers(text("x"), "b", text("2")), []string{"mcp", "servers"}, false},
		{"a level that only one has", object(), servers(text("x")), []string{"mcp", "servers"}, true},
		{"the path elsewhere", object("servers", text("x")), object("servers", text("y")), []string{"mcp", "servers"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := configtree.Equal(&tt.a, &tt.b, tt.except...); got != tt.want {
				t.Errorf("got %v", got)
			}
			if got := configtree.Equal(&tt.b, &tt.a, tt.except...); got != tt.want {
				t.Errorf("the other way round: %v", got)
			}
		})
	}
	one := text("x")
	if configtree.Equal(nil, &one) || configtree.Equal(&one, nil) || !configtree.Equal(nil, nil) {
		t.Error("nil is equal to nil alone")
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	v := object("command", text("callgate"), "args", list(text("mcp")), "on", value{Kind: configtree.Bool, Text: "true"})
	tests := []struct {
		name   string
		fields []configtree.Field
		want   bool
	}{
		{"the same", []configtree.Field{{"command", "callgate"}, {"args", []string{"mcp"}}, {"on", true}}, true},
		{"another value", []configtree.Field{{"command", "callgate"}, {"args", []string{"up"}}, {"on", true}}, false},
		{"another flag", []configtree.Field{{"command", "callgate"}, {"args", []string{"mcp"}}, {"on", false}}, false},
		{"a field less", []configtree.Field{{"command", "callgate"}, {"args", []string{"mcp"}}}, false},
		{"another order", []configtree.Field{{"args", []string{"mcp"}}, {"command", "callgate"}, {"on", true}}, false},
		{"a type that no field has", []configtree.Field{{"command", 1}, {"args", []string{"mcp"}}, {"on", true}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := v.Is(tt.fields); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if (*value)(nil).Is(nil) {
		t.Error("nil is an object")
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	lines := configtree.NewLines([]byte("ab\ncd\n\ne"))
	for at, want := range []int{1, 1, 1, 2, 2, 2, 3, 4} {
		if got := lines.Of(at); got != want {
			t.Errorf("byte %d is in line %d, want %d", at, got, want)
		}
	}
	if got := configtree.NewLines(nil).Of(0); got != 1 {
		t.Errorf("an empty text begins in line %d", got)
	}
}

func TestEOL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "\n", "a": "\n", "a\nb\r\n": "\n", "a\r\nb\n": "\r\n", "\r\n": "\r\n", "a\r": "\n"} {
		if got := configtree.EOL([]byte(text)); got != want {
			t.Errorf("%q ends its lines with %q, want %q", text, got, want)
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		splices []configtree.Splice
		want    string
	}{
		{"nothing", nil, "0123456789"},
		{"in any order", []configtree.Splice{{8, 9, "B"}, {1, 3, "AA"}}, "0AA34567B9"},
		{"insert", []configtree.Splice{{0, 0, "<"}, {10, 10, ">"}}, "<0123456789>"},
		{"deletions that overlap", []configtree.Splice{{2, 6, ""}, {4, 8, ""}}, "0189"},
		{"a deletion inside another", []configtree.Splice{{2, 8, ""}, {4, 5, ""}}, "0189"},
		{"two inserts at one place", []configtree.Splice{{5, 5, "a"}, {5, 5, "b"}}, "01234ab56789"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := string(configtree.Apply([]byte("0123456789"), tt.splices)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestKindsHaveNames(t *testing.T) {
	t.Parallel()
	for k := configtree.Null; k <= configtree.Object; k++ {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}

// FuzzValid compares with the standard library, and with the position of the
// first byte that is not UTF-8.
func FuzzValid(f *testing.F) {
	for _, seed := range []string{"", "plain", "\xff", "ok\xc3", "é\xed\xa0\x80", "\ufffd"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := configtree.Valid(data)
		if (err == nil) != utf8.Valid(data) {
			t.Fatalf("%q: %v", data, err)
		}
		if err == nil {
			return
		}
		at := err.(*configtree.SyntaxError).At
		if !utf8.Valid(data[:at]) || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%q: not the first wrong byte is at %d: %v", data, at, err)
		}
	})
}
