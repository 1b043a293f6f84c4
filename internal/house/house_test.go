package house

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// tree returns a tree of files given as text, in the order of their names.
func tree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	set, made := token.NewFileSet(), &Tree{Module: "m"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parse(set, name, []byte(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		made.Files = append(made.Files, f)
	}
	return made
}

const documented = "// Package p is here so that a rule can be broken in it.\n"

// Every rule fires on a file that breaks it, and on no other.
func TestEveryRuleFires(t *testing.T) {
	rules := Rules{
		Layers: [][]string{{"low", "low2"}, {"high"}, {"."}},
		Forbidden: []Forbidden{
			{Import: "example.com/sdk", Only: []string{"low"}, Why: "one room speaks to it"},
			{Import: "example.com/exact", Exact: true, Only: []string{"low"}, Why: "one room speaks to it"},
		},
		ForbiddenCalls: []ForbiddenCall{
			{Import: "os", Name: "Rename", Only: []string{"high"}, Why: "one room renames files"},
			{Import: "os/exec", Name: "Cmd", Only: []string{"high"}, Why: "one room starts processes", Literal: true},
		},
		ForbiddenInTests: []ForbiddenCall{
			{Import: "time", Name: "Sleep", Only: []string{"high"}, Why: "a test waits for what happens"},
		},
		Public:      []string{".", "low"},
		BadNames:    []string{"util"},
		HandlerRoom: "high",
		Unshipped:   []string{"low2"},
	}
	for name, c := range map[string]struct {
		file, text string
		want       string // empty: no problem
	}{
		"an import of a lower layer":           {"high/a.go", `import "m/low"`, ""},
		"an import of a higher layer":          {"low/a.go", `import "m/high"`, "layer 1"},
		"an import of the same layer":          {"low/a.go", `import "m/low2"`, "a room imports only lower layers"},
		"a folder of the same room":            {"low/a.go", `import "m/low/sub"`, ""},
		"an import of the root":                {"high/a.go", `import "m"`, "layer 2"},
		"a folder in no layer":                 {"other/a.go", "", "no layer"},
		"a forbidden import":                   {"high/a.go", `import "example.com/sdk"`, "one room speaks to it"},
		"a forbidden import, deeper":           {"high/a.go", `import "example.com/sdk/v2/x"`, "one room speaks to it"},
		"a forbidden import, renamed":          {"high/a.go", `import s "example.com/sdk"`, "one room speaks to it"},
		"an import that only begins alike":     {"high/a.go", `import "example.com/sdkmore"`, ""},
		"an exact import":                      {"high/a.go", `import "example.com/exact"`, "one room speaks to it"},
		"an exact import, deeper":              {"high/a.go", `import "example.com/exact/x"`, ""},
		"an import where it is allowed":        {"low/a.go", `import "example.com/sdk"`, ""},
		"an import in a folder of that room":   {"low/sub/a.go", `import "example.com/sdk"`, ""},
		"a forbidden call":                     {"low/a.go", "import \"os\"\nfunc f() { os.Rename(x, y) }", "low/a.go:4: uses os.Rename: one room renames files"},
		"a forbidden call, passed on":          {"low/a.go", "import \"os\"\nvar f = os.Rename", "one room renames files"},
		"a forbidden call, renamed":            {"low/a.go", "import system \"os\"\nvar f = system.Rename", "one room renames files"},
		"a call where it is allowed":           {"high/a.go", "import \"os\"\nvar f = os.Rename", ""},
		"another function of the package":      {"low/a.go", "import \"os\"\nvar f = os.Remove", ""},
		"a forbidden literal":                  {"low/a.go", "import \"os/exec\"\nvar c = &exec.Cmd{}", "one room starts processes"},
		"a literal where it is allowed":        {"high/a.go", "import \"os/exec\"\nvar c = exec.Cmd{}", ""},
		"a type whose literals are forbidden":  {"low/a.go", "import \"os/exec\"\nfunc f(*exec.Cmd) {}", ""},
		"a method of the same name":            {"low/a.go", "func f(os T) { os.Rename(x, y) }", ""},
		"a test that sleeps":                   {"low/a_test.go", "import \"time\"\nfunc f() { time.Sleep(1) }", "low/a_test.go:4: uses time.Sleep: a test waits"},
		"a test that sleeps, by another name":  {"low/a_test.go", "import clock \"time\"\nvar f = clock.Sleep", "a test waits"},
		"a test that may sleep":                {"high/sub/a_test.go", "import \"time\"\nvar f = time.Sleep", ""},
		"a test that waits":                    {"low/a_test.go", "import \"time\"\nfunc f() { <-time.After(1) }", ""},
		"a sleep outside of tests":             {"low/a.go", "import \"time\"\nvar f = time.Sleep", ""},
		"a forbidden call in a test":           {"low/a_test.go", "import \"os\"\nvar f = os.Rename", ""},
		"an init function":                     {"low/a.go", "func init() {}", "init function"},
		"a method that is called init":         {"low/a.go", "type T int\nfunc (T) init() {}", ""},
		"a handler that is run":                {"low/a.go", "func f(t T) { t.Handler.Execute() }", "runs a tool's handler"},
		"a handler that a test helper runs":    {"low/lowtest/a.go", "func f(t T) { t.Handler.Execute() }", ""},
		"an import of a test helper":           {"low/a.go", `import "m/low/lowtest"`, "is for tests"},
		"a test helper, in what does not ship": {"low2/a.go", `import "m/low2/xtest"`, ""},
		"a test helper of another":             {"high/hightest/a.go", `import "m/low/lowtest"`, ""},
		"a handler that the gate runs":         {"high/a.go", "func f(t T) { t.Handler.Execute() }", ""},
		"a package name that says nothing":     {"low/util/a.go", "", "says nothing"},
		"an internal type in a signature":      {"low/a.go", "import \"m/internal/x\"\nfunc F(x.T) {}", "F exposes the internal type x.T"},
		"an internal type in a result":         {"low/a.go", "import \"m/internal/x\"\nfunc F() []*x.T { return nil }", "x.T"},
		"an internal type of a method":         {"low/a.go", "import \"m/internal/x\"\ntype T int\nfunc (T) F(map[string]x.T) {}", "x.T"},
		"an internal type behind another name": {"low/a.go", "import y \"m/internal/x\"\nfunc F(y.T) {}", "y.T"},
		"an internal type as an alias":         {"low/a.go", "import \"m/internal/x\"\ntype T = x.T", "T exposes"},
		"an internal type in a field":          {"low/a.go", "import \"m/internal/x\"\ntype T struct{ A int; X x.T }", "x.T"},
		"an internal type that is embedded":    {"low/a.go", "import \"m/internal/x\"\ntype T struct{ x.T }", "x.T"},
		"an internal type of a variable":       {"low/a.go", "import \"m/internal/x\"\nvar V x.T", "x.T"},
		"an internal type in an interface":     {"low/a.go", "import \"m/internal/x\"\ntype T interface{ M(x.T) }", "x.T"},
		"an internal type that is hidden":      {"low/a.go", "import \"m/internal/x\"\ntype T struct{ x x.T }\nfunc f(x.T) {}", ""},
		"an internal type inside a body":       {"low/a.go", "import \"m/internal/x\"\nfunc F() { var _ x.T }", ""},
		"an internal type, not public":         {"high/a.go", "import \"m/internal/x\"\nfunc F(x.T) {}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{c.file: documented + "package p\n" + c.text + "\n"}
			if strings.Contains(c.file, "util") {
				files = map[string]string{c.file: strings.Replace(documented, "Package p", "Package util", 1) + "package util\n"}
			}
			got := rules.Check(tree(t, files))
			// An import of the internal folder is in no layer here, and that is another rule.
			got = slices.DeleteFunc(got, func(p Problem) bool { return strings.Contains(p.What, "internal/x (layer") })
			if text := fmt.Sprint(got); c.want == "" && len(got) > 0 || !strings.Contains(text, c.want) {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
}

func TestAPackageWithoutAComment(t *testing.T) {
	got := Rules{Layers: [][]string{{"low"}}}.Check(tree(t, map[string]string{"low/a.go": "package p\n"}))
	if len(got) != 1 || !strings.Contains(got[0].What, "no comment") {
		t.Error(got)
	}
}

// Tests that need an import have it in one of their files.
func TestTestsNeed(t *testing.T) {
	rules := Rules{
		Layers:    [][]string{{"low", "low2"}},
		TestsNeed: []TestsNeed{{Import: "m/box", Needs: "m/start", Why: "else they are skipped"}},
	}
	files := map[string]string{"low/a_test.go": "package p\nimport \"m/box\"\n", "low2/b_test.go": "package p\nimport _ \"m/start\"\n"}
	if got := rules.Check(tree(t, files)); len(got) != 1 || !strings.Contains(got[0].What, "else they are skipped") {
		t.Error(got)
	}
	rules.TestsNeed[0].Except = "low"
	if got := rules.Check(tree(t, files)); len(got) != 0 {
		t.Error(got)
	}
	rules.TestsNeed[0].Except = ""
	files["low/b_test.go"] = "package p\nimport _ \"m/start\"\n"
	if got := rules.Check(tree(t, files)); len(got) != 0 {
		t.Error(got)
	}
}

// Tests may import what they like, but stand in a layer.
func TestTestsAreFree(t *testing.T) {
	rules := Rules{Layers: [][]string{{"low"}, {"high"}}, Forbidden: []Forbidden{{Import: "x", Why: "never"}}}
	files := map[string]string{"low/a_test.go": "package p\nimport \"m/high\"\nimport \"x\"\nfunc init() {}\n"}
	if got := rules.Check(tree(t, files)); len(got) != 0 {
		t.Error(got)
	}
	files = map[string]string{"none/a_test.go": "package p\n"}
	if got := rules.Check(tree(t, files)); len(got) != 1 {
		t.Error(got)
	}
}
