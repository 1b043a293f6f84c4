package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/script"
	"callgate/tool"
)

// world is a caller whose tools are a map of files. It notes how calls came.
type world struct {
	mu    sync.Mutex
	files map[string]string
	asks  string   // the tools that a human is asked about
	seen  []string // one line for each time the caller was called
	one   map[int]string
}

func newWorld() *world {
	return &world{files: map[string]string{"a": "one\ntwo", "b": "three"}, asks: "fs.write", one: map[int]string{}}
}

func (w *world) Asks(_ context.Context, c script.Call) bool { return strings.Contains(w.asks, c.Name) }

func (w *world) Apart(_ context.Context, c script.Call, others []script.Call) bool {
	path := func(c script.Call) string {
		var in struct{ Path string }
		_ = json.Unmarshal(c.Args, &in)
		return in.Path
	}
	return c.Name == "fs.read" && !slices.ContainsFunc(others, func(o script.Call) bool { return path(o) == path(c) })
}

func (w *world) Call(_ context.Context, calls []script.Call, inTurn bool) []*tool.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, c := range calls {
		names = append(names, fmt.Sprintf("%d:%s@%d", c.Number, c.Name, c.At.Line))
		w.one[c.Number] = c.Name + string(c.Args)
	}
	how := "together "
	if inTurn {
		how = "in turn "
	}
	w.seen = append(w.seen, how+strings.Join(names, " "))
	results := make([]*tool.Result, len(calls))
	for i, c := range calls {
		results[i] = w.answer(c)
		if inTurn && results[i].Status != tool.Success {
			break
		}
	}
	return results
}

func (w *world) answer(c script.Call) *tool.Result {
	var in struct{ Path, Content string }
	_ = json.Unmarshal(c.Args, &in)
	fail := func(kind tool.Kind, text string) *tool.Result {
		return &tool.Result{Status: tool.Failure, Error: tool.Errorf("fs", kind, "%s", text)}
	}
	switch c.Name {
	case "fs.read":
		text, ok := w.files[in.Path]
		if !ok {
			return fail(tool.NotFound, "there is no file "+in.Path)
		}
		return &tool.Result{Status: tool.Success, Content: []tool.Content{tool.Text(text)}}
	case "fs.write":
		if strings.HasPrefix(in.Path, "no") {
			return fail(tool.Denied, "a human said no")
		}
		w.files[in.Path] = in.Content
		return &tool.Result{Status: tool.Success, Data: json.RawMessage(`{"written":` + fmt.Sprint(len(in.Content)) + `}`)}
	case "net-x.get-it":
		return &tool.Result{Status: tool.Success, Data: json.RawMessage(`{"code":7,"list":[1]}`),
			Content: []tool.Content{tool.Text("hello\nworld")}}
	case "ask_user":
		return &tool.Result{Status: tool.Success, Summary: "yes"}
	}
	return fail(tool.NotFound, "there is no tool "+c.Name)
}

var functions = []script.Function{
	{Name: "fs.read", Params: []script.Param{{Name: "path", Type: "str", Required: true}, {Name: "limit", Type: "int"}}},
	{Name: "fs.write", Params: []script.Param{
		{Name: "path", Type: "str", Required: true}, {Name: "content", Type: "str", Required: true}, {Name: "tags", Type: "list"},
	}},
	{Name: "ask_user", Params: []script.Param{{Name: "question", Type: "str", Required: true}}},
	{Name: "net-x.get-it", Open: true},
}

func run(t testing.TB, w *world, program string) (string, error) {
	t.Helper()
	r, err := script.Run(t.Context(), program, script.Options{Caller: w, Functions: functions})
	if r == nil {
		t.Fatal("no result")
	}
	return string(r.Value), err
}

func TestResults(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		`result = fs.read("a").split("\n")`:                                                           `["one","two"]`,
		"x = fs.read(path=\"a\")\nlen(x)":                                                             `7`,
		"def main():\n  return {\"z\": 1, \"a\": (1, 2.5, None, True)}\nmain()":                       `{"z":1,"a":[1,2.5,null,true]}`,
		"return fs.read(\"b\")":                                                                       `"three"`,
		"fs.write(\"c\", \"xy\")[\"written\"]":                                                        `2`,
		"result = fs.read({\"path\": \"a\"})":                                                         `"one\ntwo"`,
		"call(\"fs.read\", path=\"b\")":                                                               `"three"`,
		"r = attempt(lambda: fs.read(\"none\"))\nresult = [r.ok, r.error]":                            `[false,"fs.read: there is no file none"]`,
		"r = attempt(fs.read, \"a\")\nresult = r.value if r else \"\"":                                `"one\ntwo"`,
		"attempt(lambda: fs.read(\"b\"))":                                                             `{"ok":true,"value":"three","error":null}`,
		"parallel([lambda: fs.read(\"a\"), lambda: len(fs.read(\"b\"))])":                             `["one\ntwo",5]`,
		"parallel(fs.read, [\"a\", \"b\"])":                                                           `["one\ntwo","three"]`,
		"parallel(lambda p: attempt(fs.read, p).ok, [\"a\", \"x\", \"b\"])":                           `[true,false,true]`,
		"ask_user(\"go on?\")":                                                                        `"yes"`,
		"json.decode(json.encode({\"a\": [1, 2, {\"b\": 1.5}]}))[\"a\"][2]":                           `{"b":1.5}`,
		"x = 0\nwhile x < 10:\n  x += 3\nresult = x":                                                  `12`,
		"s = set([1,2]) | set([3])\nresult = sorted(list(s))":                                         `[1,2,3]`,
		"l = [1]\nl += [2]\nl2 = l * 2\nl2[0] = 9\nresult = l2[1:3]":                                  `[2,1]`,
		"d = {\"a\": 1}\nd[\"a\"] += 2\nd |= {\"b\": 1}\nresult = d":                                  `{"a":3,"b":1}`,
		"result = \"%s-%d\" % (\"a\", 3) + \"{}\".format([1])":                                        `"a-3[1]"`,
		"x = 3\nx *= 4\nx %= 5\nresult = [x, 1 << 4, 7 // 2, 2 in [1, 2]]":                            `[2,16,3,true]`,
		"result = [f(2) for f in [lambda x: x + 1, lambda x: x * x]]":                                 `[3,4]`,
		"result = sorted([\"b\", \"A\"], key=lambda s: s.lower())":                                    `["A","b"]`,
		"net_x.get_it(x=1)":                                                                           `"hello\nworld"`,
		"r = net_x.get_it()\nresult = [r.code, r[\"list\"], r.splitlines(), len(r), r[0:5], type(r)]": `[7,[1],["hello","world"],11,"hello","string"]`,
		"r = net_x.get_it()\nresult = [r == \"hello\\nworld\", \"lo\" in r, r in [r], str(r) in [r], \"%s\" % r == r + \"\"]":       `[true,true,true,true,true]`,
		"r = net_x.get_it()\nresult = [[r].index(r), {r: 1}[r], \",\".join([r]).upper(), \"{}\".format(r)[0]]":                      `[0,1,"HELLO\nWORLD","h"]`,
		"r = net_x.get_it()\nx = \"a\"\nx += r\nfs.write(\"z\", r)\nresult = [x, fs.read(\"z\"), [r, (r,)] == [str(r), (str(r),)]]": `["ahello\nworld","hello\nworld",true]`,
		"pass": `null`,
	} {
		got, err := run(t, newWorld(), program)
		if err != nil || got != want {
			t.Errorf("%s\n got %s %v\nwant %s", program, got, err, want)
		}
	}
}

func TestErrorsSayWhereAndWhat(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"x = 1\nfs.read(\"none\")\n":                "line 2, column 8: fs.read: there is no file none\n  fs.read(\"none\")",
		"fs.raed(\"a\")":                            "did you mean fs.read(path: str, limit?: int)?",
		"print(1)\nfs.read(file=\"a\")":             "line 2, column 8: there is no parameter file: fs.read(path: str, limit?: int)",
		"fs.read()":                                 "path is missing: fs.read(",
		"p = 7\nfs.read(p)":                         "path is a str, not a int: fs.read(",
		"fs.read(\"a\", 3)":                         "give optional parameters by their names",
		"fs.read(\"a\", path=\"b\")":                "path is given twice",
		"x = f\"{a}\"":                              "no f-strings",
		"import os":                                 "nothing to import",
		"try:\n  x = 1\nexcept:\n  pass":            "attempt(lambda",
		"load(\"x\", \"y\")":                        "load not implemented",
		"x = undefined_thing":                       "undefined: undefined_thing",
		"def f(): return f()\nf()":                  "called recursively",
		"1 + \"a\"":                                 "line 1, column 3: unknown binary op: int + string",
		"[1][5]":                                    "out of range",
		"def f(x):\n  return x.foo\nf(1)":           "line 2",
		"parallel([lambda: parallel([lambda: 1])])": "inside itself",
		"parallel(lambda p: fs.read(p), [\"a\", \"none\"])": "there is no file none",
		"call(\"shell.bash\", command=\"ls\")":              "shell.bash: there is no tool",
		"fs.write(\"no1\", \"x\")\nfs.write(\"c\", \"y\")":  "line 1, column 9: fs.write: a human said no",
		"fail(\"enough\")":      "enough",
		"result = lambda: 1":    "cannot be written as JSON",
		"d = {}\nd[1] *= 3":     "plain name",
		"time.now()":            "undefined: time",
		"open(\"/etc/passwd\")": "undefined: open",
	} {
		w := newWorld()
		_, err := run(t, w, program)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", program, err, want)
		}
		if _, written := w.files["c"]; written {
			t.Errorf("%s: the call after the one that failed was made", program)
		}
	}
}

// What can be put off is asked about together, and everything else happens as written.
func TestPutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, program, want string }{
		{"a loop of statements", "for p in [\"x\", \"y\"]:\n  fs.write(p, \"1\")\nresult = 1", "in turn 1:fs.write@2 2:fs.write@2"},
		{"a variable that nothing reads", "for p in [\"x\", \"y\"]:\n  r = fs.write(p, \"1\")\nresult = 1",
			"in turn 1:fs.write@2 2:fs.write@2"},
		{"a variable that is read", "for p in [\"x\", \"y\"]:\n  r = fs.write(p, \"1\")\n  print(r)",
			"together 1:fs.write@2; together 2:fs.write@2"},
		{"a comprehension", "result = [fs.write(p, p)[\"written\"] for p in [\"x\"]] + [x[\"written\"] for x in [fs.write(p, p) for p in [\"x\", \"yy\"]]]",
			"together 1:fs.write@1; in turn 2:fs.write@1 3:fs.write@1"},
		{"a dict", "result = {p: fs.write(p, p) for p in [\"x\", \"y\"]}", "in turn 1:fs.write@1 2:fs.write@1"},
		{"append", "l = []\nfor p in [\"x\", \"y\"]:\n  if p:\n    l.append(fs.write(p, p))\nresult = [x[\"written\"] for x in l]",
			"in turn 1:fs.write@4 2:fs.write@4"},
		{"append to a list that is looked at", "l = []\nfor p in [\"x\", \"y\"]:\n  l.append(fs.write(p, p))\n  print(l)",
			"together 1:fs.write@3; together 2:fs.write@3"},
		{"append to a list with another name", "l = []\nm = l\nfor p in [\"x\", \"y\"]:\n  l.append(fs.write(p, p))\n  print(m)",
			"together 1:fs.write@4; together 2:fs.write@4"},
		{"read, change, write", "for p in [\"a\", \"b\"]:\n  fs.write(p, fs.read(p).upper())\nresult = 1",
			"together 1:fs.read@2; together 3:fs.read@2; in turn 2:fs.write@2 4:fs.write@2"},
		{"what was written is read", "fs.write(\"a\", \"new\")\nresult = fs.read(\"a\")",
			"in turn 1:fs.write@1; together 2:fs.read@2"},
		{"another kind of call", "fs.write(\"a\", \"new\")\nask_user(\"?\")\nfs.write(\"b\", \"new\")\nresult = 1",
			"in turn 1:fs.write@1; together 2:ask_user@2; in turn 3:fs.write@3"},
		{"an attempt looks at it", "fs.write(\"a\", \"1\")\nattempt(lambda: fs.write(\"b\", \"1\"))\nresult = 1",
			"in turn 1:fs.write@1; together 2:fs.write@2"},
		{"side by side", "parallel([lambda: fs.write(\"a\", fs.read(\"b\")), lambda: fs.write(\"b\", fs.read(\"a\"))])",
			"together 1:fs.read@1 2:fs.read@1; together 3:fs.write@1 4:fs.write@1"},
		{"a sort key", "sorted([\"a\", \"b\"], key=fs.read)", "together 1:fs.read@1; together 2:fs.read@1"},
	} {
		w := newWorld()
		_, err := run(t, w, c.program)
		if got := strings.Join(w.seen, "; "); err != nil || got != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

// An attack ends with an error, soon, and without taking much memory.
func TestAttacks(t *testing.T) {
	for name, program := range map[string]string{
		"a long text":                 `x = "a" * 1000000000`,
		"a longer text":               `x = "a" * 10000000000000000000000`,
		"doubling a text":             "x = \"aaaaaaaa\"\nfor i in range(100):\n  x = x + x",
		"doubling in place":           "x = \"aaaaaaaa\"\nfor i in range(100):\n  x += x",
		"doubling a list":             "x = [1]\nfor i in range(100):\n  x = x + x",
		"growing a list by itself":    "x = [1]\nfor i in range(100):\n  x += x",
		"extending by itself":         "x = [1]\nfor i in range(100):\n  x.extend(x)",
		"repeating a list":            "x = [0] * 100000000",
		"nested lists":                "x = [1]\nfor i in range(100):\n  x = [x, x]\nresult = str(x)",
		"nested lists, compared":      "x = [1]\ny = [1]\nfor i in range(100):\n  x = [x, x]\n  y = [y, y]\nresult = x == y",
		"wide lists, compared":        "x = [1] * 1000\ny = [1] * 1000\nfor i in range(5):\n  x = [x] * 1000\n  y = [y] * 1000\nresult = x == y",
		"nested tuples, hashed":       "x = (1,)\nfor i in range(100):\n  x = (x, x)\nresult = {x: 1}",
		"nested tuples, in a set":     "x = (1,)\nfor i in range(100):\n  x = (x, x)\nresult = len(set([x]))",
		"nested tuples, looked up":    "x = (1,)\nfor i in range(100):\n  x = (x, x)\nd = {}\nresult = d.get(x)",
		"nested tuples, kept":         "x = (1,)\nfor i in range(100):\n  x = (x, x)\nresult = x in {1: 2}",
		"deep nesting":                "x = []\nfor i in range(100000):\n  x = [x]\nresult = x",
		"deep nesting, printed":       "x = []\nfor i in range(100000):\n  x = [x]\nprint(x)",
		"a list in itself":            "x = []\nx.append(x)\nresult = x",
		"no end":                      "while True:\n  pass",
		"no end, growing":             "x = []\nwhile True:\n  x.append([])",
		"no end, with dicts":          "x = []\nwhile True:\n  x.append({})",
		"no end, with copies":         "y = [0] * 100000\nx = []\nwhile True:\n  x.append(y[:])",
		"no end, with keywords":       "def f(**k):\n  return k\nx = []\nwhile True:\n  x.append(f())",
		"no end, with spread":         "def f(*k):\n  return k\ny = [0] * 100000\nx = []\nwhile True:\n  x.append(f(*y))",
		"a huge number":               "x = 3\nfor i in range(100):\n  x = x * x",
		"a huge shift":                "x = 1\nwhile True:\n  x = x << 500",
		"a huge shift in place":       "x = 1\nwhile True:\n  x <<= 500",
		"a long range":                "x = list(range(1000000000000))",
		"all of a long range":         "x = all(range(1, 1000000000000))",
		"the most of a long range":    "x = max(range(1000000000000))",
		"a sorted range":              "x = sorted(range(1000000000))",
		"a long range added":          "x = []\nx += range(1000000000)",
		"a long comprehension":        "x = [i for i in range(1000000000)]",
		"joining":                     "x = (\"a\" * 1000000).join([\"\"] * 100000)",
		"replacing":                   "x = (\"a\" * 100000).replace(\"a\", \"b\" * 100000)",
		"replacing nothing":           "x = (\"a\" * 100000).replace(\"\", \"b\" * 100000)",
		"formatting":                  "x = (\"{0}\" * 10000).format(\"a\" * 100000)",
		"formatting with percent":     "x = (\"%s\" * 10000) % tuple([\"a\" * 100000] * 10000)",
		"formatting by a key":         "f = (\"{0}\" * 10000).format\nx = sorted([\"a\" * 100000], key=f)",
		"splitting":                   "l = []\ns = \"a\" * 1000000\nwhile True:\n  l.append(list(s.elems()))",
		"a long program":              strings.Repeat("x = 1\n", 10000),
		"a nested program":            "x = " + strings.Repeat("(", 7000) + "1" + strings.Repeat(")", 7000),
		"nested brackets":             "x = " + strings.Repeat("[", 7000) + strings.Repeat("]", 7000),
		"a chain of minus":            "x = " + strings.Repeat("-", 15000) + "1",
		"a chain of plus":             "x = 1" + strings.Repeat("+1", 7000),
		"a long result":               "result = \"a\" * 1000000",
		"many calls":                  "for i in range(1000):\n  fs.read(\"a\")",
		"many calls that are put off": "for i in range(1000):\n  fs.write(\"a\", \"b\")",
		"wide parallel":               "parallel([lambda: fs.read(\"a\")] * 1000)",
		"endless parallel":            "def f():\n  while True:\n    pass\nparallel([f] * 50)",
		"json that is nested":         "x = json.decode(\"[\" * 1000000)",
		"json with many objects":      "x = json.decode(\"[\" + \"{},\" * 1000000 + \"{}]\")",
		"a long number":               "x = int(\"9\" * 1000000)",
		"a dict of many":              "x = {}\nwhile True:\n  x[len(x)] = {}",
		"zip":                         "x = zip(*([range(100000)] * 1000))",
		"mutual calls":                "def f(g):\n  return g(f)\nf(f)",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err := run(t, newWorld(), program)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("no error")
			} else if strings.Contains(err.Error(), "interpreter failed") {
				t.Error(err)
			}
			if mib := int64(after.HeapSys-before.HeapSys) >> 20; mib > 600 || took > 15*time.Second {
				t.Errorf("%s, %d MiB: %v", took, mib, err)
			}
			t.Logf("%s, %d MiB allocated: %v", took, (after.TotalAlloc-before.TotalAlloc)>>20, err)
		})
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	w := newWorld()
	cancel(fmt.Errorf("its time was over"))
	_, err := script.Run(ctx, "while True:\n  pass", script.Options{Caller: w})
	if tool.KindOf(err) != tool.Cancelled || !strings.Contains(err.Error(), "its time was over") {
		t.Error(err)
	}
}

// The same program with the same answers makes the same calls under the same numbers.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	const program = `
l = []
def work(p):
    text = fs.read(p)
    l.append(p)
    fs.write(p + "2", text)
    return attempt(fs.read, p + str(len(l))).ok
result = parallel(work, ["a", "b", "a"]) + [x for x in {"q": 1, "b": 2, "z": 3}]
`
	var first map[int]string
	for range 20 {
		w := newWorld()
		_, err := run(t, w, program)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = w.one
		}
		if fmt.Sprint(first) != fmt.Sprint(w.one) {
			t.Fatalf("%v\n%v", first, w.one)
		}
	}
	if len(first) != 9 {
		t.Errorf("%v", first)
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	r, err := script.Run(t.Context(), "for i in range(10000):\n  print(\"line\", i)", script.Options{Caller: newWorld()})
	if err != nil || len(r.Log) > 4300 || !strings.HasPrefix(r.Log, "line 0\nline 1\n") || string(r.Value) != "null" {
		t.Errorf("%v, %d bytes: %.40q", err, len(r.Log), r.Log)
	}
}

func FuzzRun(f *testing.F) {
	for _, seed := range []string{
		"result = [fs.read(p) for p in [\"a\", \"b\"]]", "x = \"a\" * 10\nfor i in range(3):\n  x += x\n", "def f(x): return x\nf(1)",
		"parallel([lambda: fs.read(\"a\")])", "l = []\nfor i in [1]:\n  l.append(fs.write(\"a\", \"b\"))\nl", "x = {1: (2, [3])}\nx[1][1][0] *= 3",
		"a, b = 1, 2\nresult = \"%s\" % (a,)", "return 1", "[x for x in \"abc\".elems() if x != \"b\"]", "lambda x=1, *a, **k: (x, a, k)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, program string) {
		defer time.AfterFunc(8*time.Second, func() { panic(fmt.Sprintf("no end: %q", program)) }).Stop()
		o := script.Options{Caller: newWorld(), Functions: functions, Limits: script.Limits{Steps: 20000, Memory: 8 << 20}}
		r, err := script.Run(t.Context(), program, o)
		if r == nil || err != nil && strings.Contains(err.Error(), "interpreter failed") {
			t.Fatalf("%q: %v", program, err)
		}
		if err == nil && !json.Valid(r.Value) {
			t.Fatalf("%q gives %q", program, r.Value)
		}
	})
}
