package condition_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"callgate/internal/condition"
	"callgate/tool"
)

// watcher is the Env of watchers, as internal/watch has it.
var watcher = condition.Env{
	Roots: map[string]condition.Type{
		"result": {}, "previous": {},
		"error": {Kind: condition.Text},
		"check": {Kind: condition.Map, Closed: true, Fields: map[string]condition.Type{
			"number": {Kind: condition.Number}, "failed": {Kind: condition.Bool}}},
	},
	Implied: "result",
}

// hook is an Env without an implied root.
var hook = condition.Env{Roots: map[string]condition.Type{
	"tool": {Kind: condition.Map, Fields: map[string]condition.Type{
		"name": {Kind: condition.Text}, "tags": {Kind: condition.List, Elem: &condition.Type{Kind: condition.Text}}}},
	"turns": {Kind: condition.Number},
}}

func values(t testing.TB, source string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(source), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const sample = `{
	"result": {"count": 7, "state": "done", "text": "a >= b", "ok": true, "ratio": 0.5, "nothing": null,
		"items": [{"x": 1, "state": "failed"}, {"x": 2, "state": "done"}], "grid": [[1, 2], [3]],
		"my-field": "yes", "in": 3, "big": 9007199254740993},
	"previous": {"count": 2, "items": []},
	"error": null,
	"check": {"number": 3, "failed": false}}`

func TestEval(t *testing.T) {
	in := values(t, sample)
	for source, want := range map[string]bool{
		// The form of the seeds: one comparison, an implied root, bare words.
		"result.count > 5":              true,
		"count > 5":                     true,
		"result.count >= 7":             true,
		"result.count <= 6":             false,
		"result.count != 7":             false,
		"error != null":                 false,
		"error == None":                 true,
		"result.items[0].x == 1":        true,
		"result.items.1.x == 2":         true,
		"items.0.state == failed":       true,
		"result.items[-1].x == 2":       true,
		"result.items[7].x == null":     true,
		"result.state == done":          true,
		"result.state == 'done'":        true,
		`result.state == "failed"`:      false,
		"result.ok == True":             true,
		"result.ok":                     true,
		"result.missing.deeper == null": true,
		// An operator in a quoted text is text.
		`result.text == "a >= b"`: true,
		`result.text != 'a != b'`: true,
		// The rest of the language.
		"result.count > 5 and error == null":            true,
		"result.count > 5 && !(result.state == failed)": true,
		"error != null or count == 7":                   true,
		"error != null || count == 8":                   false,
		"not result.ok":                                 false,
		"not count > 5":                                 false,
		"result.count - previous.count >= 5":            true,
		"-result.count == -7":                           true,
		"result.count % 2 == 1":                         true,
		"result.count / 2 == 3.5":                       true,
		"1 + 2 * 3 == 7":                                true,
		"(1 + 2) * 3 == 9":                              true,
		"result.state in [done, failed]":                true,
		"result.state not in [done, failed]":            false,
		"'one' in result.state":                         true,
		"result.text contains '>='":                     true,
		"result.text not contains '>='":                 false,
		"result contains count":                         true,
		"result.items[*].state contains failed":         true,
		"result.items[*].state contains lost":           false,
		"len(result.items[*].x) == 2":                   true,
		"len(result.grid[*][*]) == 3":                   true,
		"result.grid[*][0] contains 3":                  true,
		"result.missing[*].x contains 1":                false,
		"len(previous.items) == 0":                      true,
		"len('äö') == 2":                                true,
		"lower(result.state) startswith do":             true,
		"result.state endswith 'x'":                     false,
		`result.state matches "^d.ne$"`:                 true,
		`result.text matches '\s>=\s'`:                  true,
		`result["my-field"] == yes`:                     true,
		"result.in == 3":                                true,
		"abs(previous.count - result.count) == 5":       true,
		"result.items != previous.items":                true,
		"result.items == result.items":                  true,
		"result.count != null and result.count > 5":     true,
		"result.missing == null or result.missing > 5":  true,
		"result.nothing == null":                        true,
		"check.number >= 3 and not check.failed":        true,
		"result.ratio < 1":                              true,
		"true":                                          true,
	} {
		c, err := condition.Compile(source, watcher)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := c.Eval(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
}

// Whole numbers are compared as such.
func TestWholeNumbers(t *testing.T) {
	in := map[string]any{"result": map[string]any{"big": json.Number("9007199254740993"), "small": 3}}
	for source, want := range map[string]bool{
		"result.big == 9007199254740993":                  true,
		"result.big == 9007199254740992":                  false,
		"result.big + 1 == 9007199254740994":              true,
		"9223372036854775807 + 1 > 9223372036854775807":   false, // no longer whole, and equal as a float64
		"9223372036854775807 * 2 > 9223372036854775807":   true,
		"-9223372036854775807 - 2 < -9223372036854775807": false,
		"result.small % -1 == 0":                          true,
	} {
		c, err := condition.Compile(source, watcher)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if got, err := c.Eval(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
}

// A bad expression is refused when it is compiled, with its place.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		env                condition.Env
		source, says, hint string
	}{
		{watcher, "", "character 1: it is empty", "result.count > 5"},
		{watcher, "  ", "it is empty", ""},
		{watcher, "result.count >", "character 15: it ends where a value was expected", ""},
		{watcher, "result.count > > 5", `character 16: there is ">", where a value was expected`, ""},
		{watcher, "result.count = 5", "= is not a comparison", "write =="},
		{watcher, "result.count 5", `there is "5", where an operator or the end was expected`, ""},
		{watcher, "1 < result.count < 5", "two comparisons stand in a row", "and"},
		{watcher, "5", "the whole is a number, and must be true or false", "!= null"},
		{watcher, "result.count + 1", "the whole is a number", ""},
		{watcher, "'x' > 5", `'x' is a text and 5 is a number: > cannot compare them`, ""},
		{watcher, "check.number == done", "check.number is a number and done is a text", ""},
		{watcher, "check.number > null", "cannot compare", ""},
		{watcher, "check.numbr > 5", "check has no field numbr", "did you mean number"},
		{watcher, "check.other > 5", "check has no field other", "it has failed, number"},
		{watcher, "resutl.count > 5", "there is no resutl here", "did you mean result"},
		{watcher, "result.state == resul", "there is no resul here", "quotes"},
		{watcher, "error > 5", "error is a text and 5 is a number", ""},
		{watcher, "error and true", "error is a text, and and needs true or false", "error != null"},
		{watcher, "not 5", "5 is a number, and not needs true or false", ""},
		{watcher, "result.x == 'abc", "has no end", "'"},
		{watcher, "(result.x == 1", "it ends where ) was expected", ""},
		{watcher, "result..x == 1", "where a field was expected", ""},
		{watcher, "result.items[ == 1", "a value was expected", ""},
		{watcher, "result.state matches '('", "in the regular expression", ""},
		{watcher, "result.state matches result.x", "needs a regular expression in quotes", ""},
		{watcher, "size(result.x) > 1", "there is no function size", "abs, len, lower"},
		{watcher, "lenn(result.x) > 1", "there is no function lenn", "did you mean len"},
		{watcher, "len(1) > 1", "len counts a text, a list or an object", ""},
		{watcher, "len(result, error) > 1", "len takes one value", ""},
		{watcher, "result.count > 5s", `"5s" is not a number`, ""},
		{watcher, "result.x == 1; drop", `what is ";"?`, ""},
		{watcher, "result.x == not 1", "not stands inside a comparison", ""},
		{watcher, strings.Repeat("(", 100) + "1", "deep", ""},
		{watcher, strings.Repeat("a", condition.MaxSource+1), "longer than", ""},
		{hook, "count > 5", "there is no count here", "tool, turns"},
		{hook, "tool.name > 5", "tool.name is a text", ""},
		{hook, "tool.tags.x == 1", "tool.tags is a list, and has no field x", "tool.tags[*].x"},
		{hook, "tool.tags[a] == 1", "is a list, and what is in its brackets is a text", ""},
		{hook, "turns.x == 1", "turns is a number, and has no field x", ""},
		{hook, "turns[*] == 1", "[*] is for lists", ""},
		{hook, "turns contains 1", "contains cannot compare them", ""},
		{hook, "tool.tags[0] > 5", "is a text and 5 is a number", ""},
	} {
		_, err := condition.Compile(c.source, c.env)
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), c.hint) {
			t.Errorf("%q: %v", tool.Truncate(c.source), err)
		}
	}
}

func TestPlaceIsShown(t *testing.T) {
	_, err := condition.Compile("result.größe > 5 and >", watcher)
	if want := "\n  result.größe > 5 and >\n" + "  " + strings.Repeat(" ", 21) + "^"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// What only the values show is an error too, and never false.
func TestUndecided(t *testing.T) {
	in := values(t, sample)
	for source, says := range map[string]string{
		"result.cuont > 5":            "result.cuont is null or not there",
		"result.state > 5":            "result.state is a text and 5 is a number",
		"result.count == '7'":         "result.count is a number and '7' is a text",
		"result.count and true":       "result.count is a number, which and does not take",
		"result.count":                "a condition must be true or false",
		"result.state.x == 1":         "result.state is a text, and has no field x",
		"result.items.x == 1":         "result.items is a list, and has no field x",
		"result.items[0.5] == 1":      "0.5 is no place of a list",
		"result.count / 0 > 1":        "nothing is divided by it",
		"len(result.count) > 1":       "which len does not take",
		"result.count[*] contains 1":  "has no elements",
		"result.state contains 5":     "contains cannot compare them",
		"result.count startswith a":   "startswith cannot compare them",
		"result.items[*].x.y == null": "has no field y",
		"-result.state == 1":          "which - does not take",
	} {
		c, err := condition.Compile(source, watcher)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := c.Eval(in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
	c, err := condition.Compile("result == 1", watcher)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Eval(map[string]any{"result": struct{}{}}); err == nil {
		t.Error("a value of an odd type was compared")
	}
}

// The work of an evaluation is bounded, whatever the values are.
func TestBounded(t *testing.T) {
	many := make([]any, 600_000)
	in := map[string]any{"result": map[string]any{"a": many, "b": many}}
	c, err := condition.Compile("result.a == result.b and result.b == result.a", watcher)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Eval(in); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
}

func TestUses(t *testing.T) {
	c, err := condition.Compile("len(result.items) > 1 and previous == null", watcher)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Uses("previous") || !c.Uses("result") || c.Uses("error") || c.String() == "" {
		t.Error("it uses other roots than it says")
	}
}

func TestConcurrent(t *testing.T) {
	c, err := condition.Compile("result.items[*].state contains failed and result.state matches 'd.*'", watcher)
	if err != nil {
		t.Fatal(err)
	}
	in := values(t, sample)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if ok, err := c.Eval(in); !ok || err != nil {
					t.Errorf("%v, %v", ok, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"result.count > 5", "error != null", "result.items[0].x == 'a'", "a.0.b in [x, 'y', 3]",
		"not (result.a[*].b contains 1) and -1.5e3 < abs(result.c) or check.failed", `result matches "\d+"`,
		"result.a not in result.b", "((((", "é == ü", "\xff"} {
		f.Add(s, `{"a": [1, {"b": "x"}], "count": 7, "c": -2}`)
	}
	f.Fuzz(func(t *testing.T, source, result string) {
		c, err := condition.Compile(source, watcher)
		if err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Fatalf("%q: %v", source, err)
			}
			return
		}
		var v any
		_ = json.Unmarshal([]byte(result), &v)
		in := map[string]any{"result": v, "previous": v, "check": map[string]any{"number": 1, "failed": false}}
		got, err := c.Eval(in)
		again, err2 := c.Eval(in)
		if got != again || (err == nil) != (err2 == nil) {
			t.Fatalf("%q: %v, %v and then %v, %v", source, got, err, again, err2)
		}
		if err != nil && tool.KindOf(err) != tool.Failed {
			t.Fatalf("%q: %v", source, err)
		}
	})
}
