package match_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"callgate/internal/gate/match"
)

func compiled(t testing.TB, form string) *match.Pattern {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(form), &m); err != nil {
		t.Fatal(err)
	}
	p, err := match.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(t testing.TB, args string, paths map[string][]string) *match.Call {
	t.Helper()
	c := &match.Call{Module: "shell", Action: "bash", Workspace: "/w", Paths: paths, Disk: &match.Disk{Imagined: true}}
	if err := json.Unmarshal([]byte(args), &c.Args); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConditions(t *testing.T) {
	t.Parallel()
	src := map[string][]string{"path": {"/w/src/a.go"}}
	both := map[string][]string{"paths": {"/w/src/a.go", "/w/docs/b.md"}}
	tests := []struct {
		name, pattern, args string
		paths               map[string][]string
		fits                bool
		touches             match.Answer
	}{
		{"nothing", `{}`, `{"a":1}`, nil, true, match.Yes},
		{"a glob", `{"path":"src/**"}`, `{"path":"x"}`, src, true, match.Yes},
		{"a glob elsewhere", `{"path":"docs/**"}`, `{"path":"docs/a.go"}`, src, false, match.No},
		{"an absolute glob", `{"path":"/w/src/*"}`, `{"path":"x"}`, src, true, match.Yes},
		{"one star does not cross", `{"path":"*"}`, `{"path":"x"}`, src, false, match.No},
		{"hidden names", `{"path":"src/**"}`, `{"path":"x"}`, map[string][]string{"path": {"/w/src/.env"}}, true, match.Yes},
		{"a path without wildcards", `{"path":"./src/a.go"}`, `{"path":"x"}`, src, true, match.Yes},
		{"a path of another name", `{"path":"src"}`, `{"path":"x"}`, src, false, match.No},
		{"each of a list", `{"paths":"src/**"}`, `{"paths":["a","b"]}`, both, false, match.Yes},
		{"all of a list", `{"paths":["src/**","docs/**"]}`, `{"paths":["a","b"]}`, map[string][]string{"paths": {"/w/src/a"}}, true, match.Yes},
		{"outside", `{"path":"**"}`, `{"path":"x"}`, map[string][]string{"path": {"/etc/passwd"}}, false, match.No},
		{"absent", `{"path":"**"}`, `{}`, nil, false, match.No},
		{"a text", `{"mode":"fast"}`, `{"mode":"fast"}`, nil, true, match.Yes},
		{"another text", `{"mode":"fast"}`, `{"mode":"slow"}`, nil, false, match.No},
		{"any of", `{"mode":["a","b",null]}`, `{"mode":null}`, nil, true, match.Yes},
		{"a range", `{"n":{"min":1,"max":5}}`, `{"n":5}`, nil, true, match.Yes},
		{"beyond a range", `{"n":{"max":5}}`, `{"n":5.1}`, nil, false, match.No},
		{"a text in a range", `{"n":{"max":5}}`, `{"n":"3"}`, nil, false, match.No},
		{"exact", `{"q":{"exact":"a*"}}`, `{"q":"a*"}`, nil, true, match.Yes},
		{"exact is no glob", `{"q":{"exact":"a*"}}`, `{"q":"ab"}`, nil, false, match.No},
		{"an address", `{"url":"https://example.com/**"}`, `{"url":"https://example.com/a/b"}`, nil, true, match.Yes},
		{"an address that goes up", `{"url":"https://example.com/a/**"}`, `{"url":"https://example.com/a/../b"}`, nil, false, match.No},
		{"an address that comes back", `{"url":"https://example.com/a/**"}`, `{"url":"https://example.com/b/../a/c"}`, nil, true, match.Yes},
		{"an address in two readings", `{"url":"https://example.com/a/**"}`, `{"url":"https://example.com/a/..%2Fb"}`, nil, false, match.Yes},
		{"an address that nobody can read", `{"url":"https://example.com/a/**"}`, `{"url":"https://["}`, nil, false, match.Unsure},
		{"an address of another kind", `{"dsn":"postgres://db/**"}`, `{"dsn":"postgres://db/x"}`, nil, true, match.Yes},
		{"another address", `{"url":"https://example.com/**"}`, `{"url":"https://example.com.org/a"}`, nil, false, match.No},
		{"two conditions", `{"a":1,"b":2}`, `{"a":1,"b":3}`, nil, false, match.No},
		{"all arguments", `{"=":{"a":1}}`, `{"a":1}`, nil, true, match.Yes},
		{"one argument more", `{"=":{"a":1}}`, `{"a":1,"b":1}`, nil, false, match.No},
		{"a command", `{"command":"git log *"}`, `{"command":"git log -3"}`, nil, true, match.Yes},
		{"a command in a list", `{"command":"git log *"}`, `{"command":"git log; rm x"}`, nil, false, match.Yes},
		{"a script", `{"command":"./run.sh *"}`, `{"command":"./run.sh a","cwd":"."}`, nil, true, match.Yes},
		{"a script elsewhere", `{"command":"./run.sh *"}`, `{"command":"./run.sh a","cwd":"sub"}`, nil, false, match.Yes},
		{"a script there", `{"command":"./run.sh *","cwd":"sub"}`, `{"command":"./run.sh a","cwd":"sub"}`, nil, true, match.Yes},
		{"a program elsewhere", `{"command":"git log *"}`, `{"command":"git log","cwd":"sub"}`, nil, true, match.Yes},
		{"a computed command", `{"command":"rm *"}`, `{"command":"$x y"}`, nil, false, match.Unsure},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := compiled(t, test.pattern)
			if got := p.Fits(call(t, test.args, test.paths)); got != test.fits {
				t.Errorf("fits: %v, want %v", got, test.fits)
			}
			if got := p.Touches(call(t, test.args, test.paths)); got != test.touches {
				t.Errorf("touches: %v, want %v", got, test.touches)
			}
			again, err := match.Compile(p.Map())
			if err != nil || again.String() != p.String() {
				t.Errorf("the form of %s reads back as %s, %v", p, again, err)
			}
		})
	}
}

// A rule that forbids a file is in doubt about the folders that it is in.
// What a program is given to read can be commands. A rule that permits the program does
// not permit that, and a rule that forbids a command finds it there.
func TestInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pattern, args string
		fits          bool
		touches       match.Answer
	}{
		"a reader":              {`{"command":"cat *"}`, `{"command":"cat -","stdin_text":"x"}`, false, match.Yes},
		"a reader, without":     {`{"command":"cat *"}`, `{"command":"cat -","stdin_text":""}`, true, match.Yes},
		"a shell":               {`{"command":"bash"}`, `{"command":"bash","stdin_text":"rm -rf x"}`, false, match.Yes},
		"forbidden in it":       {`{"command":"rm *"}`, `{"command":"bash","stdin_text":"true; rm -rf x"}`, false, match.Yes},
		"forbidden, hidden":     {`{"command":"rm *"}`, `{"command":"bash","stdin_text":"$x -rf x"}`, false, match.Unsure},
		"other code":            {`{"command":"rm *"}`, `{"command":"python3","stdin_text":"f('x\n"}`, false, match.Unsure},
		"without a command":     {`{"command":"rm *"}`, `{"stdin_text":"rm x"}`, false, match.Yes},
		"nothing of the sort":   {`{"command":"rm *"}`, `{"command":"cat","stdin_text":"git log"}`, false, match.No},
		"both said":             {`{"command":"cat *","stdin_text":"**"}`, `{"command":"cat","stdin_text":"a\nb"}`, true, match.Yes},
		"both said, another":    {`{"command":"cat *","stdin_text":"b"}`, `{"command":"cat","stdin_text":"a"}`, false, match.No},
		"another command":       {`{"command":"cat *","stdin_text":"**"}`, `{"command":"bash","stdin_text":"a"}`, false, match.Unsure},
		"the text alone":        {`{"stdin_text":"a"}`, `{"command":"bash","stdin_text":"a"}`, true, match.Yes},
		"this very call":        {`{"=":{"command":"bash","stdin_text":"a"}}`, `{"command":"bash","stdin_text":"a"}`, true, match.Yes},
		"this call, other text": {`{"=":{"command":"bash","stdin_text":"a"}}`, `{"command":"bash","stdin_text":"b"}`, false, match.No},
		"in pieces": {
			`{"command":"rm *"}`, `{"command":"m x\n","input_for":"t","task_command":"bash","unfinished":"r"}`, false, match.Yes,
		},
		"in a text that is open": {
			`{"command":"rm *"}`, `{"command":"' ; rm x ; #'\n","input_for":"t","task_command":"bash","unfinished":": 'a\n"}`,
			false, match.Yes,
		},
		"behind what is lost": {
			`{"command":"rm *"}`, `{"command":"ls\n","input_for":"t","task_command":"bash","unfinished":"\u0000"}`, false, match.Unsure,
		},
		"harmless in pieces": {
			`{"command":"rm *"}`, `{"command":"o x\n","input_for":"t","task_command":"bash","unfinished":"ech"}`, false, match.No,
		},
		"of no task": {`{"command":"rm *"}`, `{"command":"ls","unfinished":"rm x; "}`, false, match.No},
		"both said, of a task": {
			`{"command":"sh -s","stdin_text":"**"}`, `{"command":"a\n","input_for":"t","task_command":"sh -s"}`, false, match.Yes,
		},
		"both said, of an unknown task": {
			`{"command":"sh -s","stdin_text":"**"}`, `{"command":"a\n","input_for":"t"}`, false, match.Unsure,
		},
		"the text of a task": {
			`{"stdin_text":"ab"}`, `{"command":"b","input_for":"t","task_command":"cat","unfinished":"a"}`, false, match.Yes,
		},
		"for one that runs": {`{"command":"ls *"}`, `{"command":"ls","input_for":"t"}`, false, match.Yes},
	} {
		p, c := compiled(t, test.pattern), call(t, test.args, nil)
		if p.Fits(c) != test.fits || p.Touches(c) != test.touches {
			t.Errorf("%s: fits %v, touches %v", name, p.Fits(c), p.Touches(c))
		}
		if why := p.Why(c); (why == "") != test.fits {
			t.Errorf("%s: why %q", name, why)
		}
		var set match.Set
		set.Add(p)
		if _, ok := set.Fits(c); ok != test.fits {
			t.Errorf("%s: a set of it fits %v", name, ok)
		}
		for _, offered := range match.Suggest(c) {
			if !test.fits && c.Args["stdin_text"] != nil {
				t.Errorf("%s: a yes would be kept as %s", name, offered)
			}
		}
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, folder string
		want            match.Answer
	}{
		{"secret/**", "/w", match.Unsure},
		{"secret/key", "/w", match.Unsure},
		{"secret/key", "/w/secret", match.Unsure},
		{"secret/key", "/w/sec", match.No},
		{"secret/**", "/w/src", match.No},
		{"/w/secret/*", "/w", match.Unsure},
		{"**/*.key", "/w/src", match.Unsure},
	} {
		c := call(t, `{"path":"x"}`, nil)
		c.AddPath("path", test.folder, true)
		if got := compiled(t, `{"path":"`+test.pattern+`"}`).Touches(c); got != test.want {
			t.Errorf("%s in %s: %v, want %v", test.pattern, test.folder, got, test.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		`{"n":{"mim":1}}`:           `n.mim is not known; write {min: 1, max: 10}, or {exact: a value}`,
		`{"n":{"min":"1"}}`:         `n.min is "1"; write a number`,
		`{"n":{"min":2,"max":1}}`:   `n is {"max":1,"min":2}; write a min that is not above max`,
		`{"n":{}}`:                  `n is empty; write {min: 1, max: 10}, or {exact: a value}`,
		`{"n":[]}`:                  `n is []; write a list of 1 to 256 values, any of which fits`,
		`{"n":["a",["b"]]}`:         `n[1] is ["b"]; write a list of 1 to 256 values, any of which fits`,
		`{"path":"src/[a"}`:         `path is "src/[a"; write a glob, such as src/**: a [ is not closed`,
		`{"command":"a; b"}`:        `command is "a; b"; write the words of one command`,
		`{"command":"* x"}`:         `command is "* x"; write the name of the program first`,
		`{"command":["ls","$x y"]}`: `command[1] is "$x y"; write the words of one command`,
		`{"=":1}`:                   `= is 1; write all arguments of the call, as a mapping`,
		`{"=":{},"a":1}`:            `a is beside =; write = alone`,
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(form), &m); err != nil {
			t.Fatal(err)
		}
		_, err := match.Compile(m)
		var mistake *match.Error
		if !errors.As(err, &mistake) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", form, err, want)
		}
	}
}

// A yes is given to the text of a pattern, so no two patterns have the same.
func TestPatternsThatDifferAreWrittenDifferently(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, form := range []string{
		`{"a":"1, b: 2"}`, `{"a":"1","b":"2"}`, `{"a":1,"b":2}`, `{"a":"1"}`, `{"a":1}`, `{"a":"null"}`, `{"a":null}`,
		`{"a":"[1]"}`, `{"a":[1]}`, `{"a":["1"]}`, `{"a":{"exact":1}}`, `{"a":"x "}`, `{"a":"x"}`, `{"a: x":"y"}`,
		`{"=":{"a":1}}`, `{"a":"x: y"}`, `{}`, `{"any arguments":"x"}`,
	} {
		text := compiled(t, form).String()
		if other := seen[text]; other != "" {
			t.Errorf("%s and %s are both written %s", form, other, text)
		}
		seen[text] = form
	}
}

func TestExactCallHoldsItsPaths(t *testing.T) {
	t.Parallel()
	was := call(t, `{"path":"link","content":"x"}`, map[string][]string{"path": {"/w/a"}})
	p := match.ExactCall(was)
	again, err := match.Compile(p.Map())
	if err != nil {
		t.Fatal(err)
	}
	if !p.Fits(was) || !again.Fits(was) {
		t.Error("the same call does not fit")
	}
	if again.Fits(call(t, `{"path":"link","content":"x"}`, map[string][]string{"path": {"/w/b"}})) {
		t.Error("a call whose link leads elsewhere fits")
	}
	if !match.ExactCall(call(t, `{"command":"ls","description":"a"}`, nil)).Fits(call(t, `{"command":"ls","timeout":3}`, nil)) {
		t.Error("the description of a command counts")
	}
	if match.Exact(was.Args).String() != `exactly {"content":"x","path":"link"}` {
		t.Error(match.Exact(was.Args).String())
	}
}

func TestSetCoversALineInParts(t *testing.T) {
	t.Parallel()
	var s match.Set
	for _, form := range []string{
		`{"command":"git log *"}`, `{"command":["npm test","npm run *"]}`, `{"=":{"command":"make all"}}`,
		`{"path":"src/**"}`, `{"command":"ls *","reads_only":true}`,
	} {
		s.Add(compiled(t, form))
	}
	for args, want := range map[string]string{
		`{"command":"git log && npm test"}`:                   "[0 1]",
		`{"command":"git log | ls -l","reads_only":true}`:     "[0 4]",
		`{"command":"git log | ls -l"}`:                       "none",
		`{"command":"make all","description":"build"}`:        "[2]",
		`{"command":"make all; git log"}`:                     "none",
		`{"command":"git log && rm x"}`:                       "none",
		`{"command":"npm run build > /dev/null; npm test x"}`: "none",
	} {
		got := "none"
		if numbers, ok := s.Fits(call(t, args, nil)); ok {
			got = fmt.Sprint(numbers)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args  string
		paths map[string][]string
		want  string
	}{
		{`{"command":"git log -3"}`, nil, "command: git log -3 | command: git log *"},
		{`{"command":"npm run build"}`, nil, "command: npm run build | command: npm run build *"},
		{`{"command":"go test ./... && git status"}`, nil,
			`command: ["go test ./...","git status"] | command: ["go test *","git status *"]`},
		{`{"command":"timeout 5 ls -l"}`, nil, "command: ls -l | command: ls *"},
		{`{"command":"python3 -c 'print(1)'"}`, nil, `command: python3 -c 'print(1)'`},
		{`{"command":"rm $x"}`, nil, ""},
		{`{"command":"rm -rf build"}`, nil, "command: rm -rf build"},
		{`{"command":"aws s3 ls"}`, nil, "command: aws s3 ls | command: aws s3 ls *"},
		{`{"command":"$x"}`, nil, ""},
		{`{"path":"x"}`, map[string][]string{"path": {"/w/src/a/b.go"}},
			"path: src/a/b.go | path: src/a/*.go | path: src/a/** | path: src/**"},
		{`{"path":"x"}`, map[string][]string{"path": {"/w/[a].txt"}}, `path: \[a].txt | path: *.txt`},
	}
	for _, test := range tests {
		c := call(t, test.args, test.paths)
		var got []string
		for _, p := range match.Suggest(c) {
			got = append(got, p.String())
		}
		if text := strings.Join(got, " | "); text != test.want {
			t.Errorf("%s: %s, want %s", test.args, text, test.want)
		}
	}
}
