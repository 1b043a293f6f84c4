package scripts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/scripts"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// run runs a program and returns its result.
func run(t *testing.T, s *session.Session, program string) *tool.Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"program": program})
	kerneltest.OK(t, err)
	return s.Call(t.Context(), session.CallRequest{Name: "run_script", Args: args})
}

const (
	auto = "    default_policy: auto\n"
	asks = "    default_policy: auto\n    approve:\n      - {module: filesystem, actions: [write, delete]}\n"
)

// open opens a session in a folder with files, under rules.
func open(t *testing.T, capabilities string, tools ...*tool.Tool) (*kernel.Kernel, *session.Session, string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "tools:\n  capabilities:\n"+capabilities)
	for i, text := range []string{"alpha\nbeta\n", "gamma\n", "delta\nepsilon\nzeta\n"} {
		kerneltest.Write(t, filepath.Join(folder, "in", fmt.Sprintf("%d.txt", i+1)), text)
	}
	k := kerneltest.Open(t, kerneltest.StateDir(t), tools...)
	return k, kerneltest.OpenAccepted(t, k, folder), folder
}

func text(r *tool.Result) string {
	if len(r.Content) == 0 {
		return r.Summary
	}
	return r.Content[0].Text
}

// counter is a tool that leaves something behind, and counts its calls.
func counter(calls *atomic.Int64) *tool.Tool {
	return &tool.Tool{
		ID: tool.ID{Namespace: "test", Name: "count", Version: tool.Version{Major: 1}},
		Spec: tool.Spec{Description: "counts", Input: json.RawMessage(
			`{"type":"object","properties":{"note":{"type":"string"}},"additionalProperties":false}`)},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.External},
		Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			return tool.OK("", map[string]int64{"n": calls.Add(1)})
		}),
	}
}

func TestScriptsOverFiles(t *testing.T) {
	t.Parallel()
	_, s, _ := open(t, auto)
	for program, want := range map[string]string{
		"sum([1])": "",
		`result = {p: len(filesystem.read(path=p).splitlines()) for p in filesystem.glob(pattern="in/*.txt")["paths"]}`: `{"in/1.txt":2,"in/2.txt":1,"in/3.txt":3}`,
		`paths = filesystem.glob("in/*.txt").paths
result = sum_lines = [len(t.splitlines()) for t in parallel(filesystem.read, paths)]`: "",
		`result = [r["total_lines"] for r in parallel(filesystem.read, ["in/1.txt", "in/3.txt"])]`: `[2,3]`,
		`filesystem.write("out.txt", "x")
filesystem.read("out.txt")`: `x`,
		`result = shell.bash(command="echo hello").exit_code`: `0`,
		`print("only this")`: `only this`,
		`x = 1`:              `the program set no result`,
		`attempt(lambda: filesystem.read("none")).ok`: `false`,
		`call("Read", path="in/2.txt")`:               `gamma`,
	} {
		r := run(t, s, program)
		if want == "" {
			if r.Status == tool.Success {
				t.Errorf("%s: %s", program, text(r))
			}
		} else if r.Status != tool.Success || !strings.Contains(text(r), want) {
			t.Errorf("%s\n got %s %s\nwant %s", program, r.Status, text(r), want)
		}
	}
}

// A program has no right that its session does not have, and no failure looks like a value.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	k, s, folder := open(t, auto+"    deny:\n      - {module: shell}\n      - {module: filesystem, actions: [delete]}\n")
	for program, want := range map[string]string{
		"filesystem.write(\"a\", \"1\")\nx = shell.bash(\"true\")\nfilesystem.write(\"b\", \"1\")": "line 2, column 15: shell.bash: shell.bash is not allowed",
		"filesystem.delete(\"in/1.txt\")":                    "filesystem.delete is not allowed",
		"call(\"shell.bash\", command=\"true\")":             "is not allowed",
		"call(\"Bash\", command=\"true\")":                   "is not allowed",
		"call(\"run_script\", program=\"1\")":                "cannot call run_script",
		"call(\"context_builder.run_parallel\", actions=[])": "cannot call run_parallel",
		"call(\"execute_tool\", name=\"Bash\")":              "cannot call execute_tool",
		"run_script(program=\"1\")":                          "undefined: run_script",
		"filesystem.raed(\"a\")":                             "filesystem.read(path: str",
		"filesystem.read(fiel=\"a\")":                        "there is no parameter fiel",
		"filesystem.read(\"../../../etc/passwd\")":           "line 1",
	} {
		r := run(t, s, program)
		if r.Status == tool.Success || !strings.Contains(r.Summary, want) {
			t.Errorf("%s\n got %s %s\nwant %s", program, r.Status, r.Summary, want)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "b")); err == nil {
		t.Error("the call after the refused one was made")
	}
	if r := run(t, s, "r = attempt(lambda: shell.bash(\"true\"))\nresult = [r.ok, r.value]"); text(r) != "[false,null]" {
		t.Errorf("%s", text(r))
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{Limit: 1000})
	kerneltest.OK(t, err)
	refused := 0
	for _, rec := range records {
		if rec.Ask != nil && rec.Ask.Verdict == journal.Refuse && rec.Parent != "" {
			refused++
		}
	}
	if refused != 6 {
		t.Errorf("%d refusals are on record", refused)
	}
}

// pending waits until so many requests wait.
func pending(t *testing.T, k *kernel.Kernel, n int) (asked []approval.Request) {
	t.Helper()
	kerneltest.Eventually(t, func() bool {
		asked, _ = k.Approvals.List(t.Context(), approval.Pending, 0)
		return len(asked) == n
	})
	return asked
}

func start(t *testing.T, s *session.Session, program string) <-chan *tool.Result {
	ended := make(chan *tool.Result, 1)
	go func() { ended <- run(t, s, program) }()
	return ended
}

const loop = `for i in range(4):
    text = filesystem.read(path="in/1.txt")
    filesystem.write(path="out/%d.txt" % i, content=text.upper())
for i in range(2):
    filesystem.write(path="out/more%d.txt" % i, content="x")
result = len(filesystem.glob(pattern="out/*")["paths"])`

// A loop is asked about once, with where it stands, and one answer is for all of it.
func TestLoopIsAskedAboutTogether(t *testing.T) {
	t.Parallel()
	k, s, _ := open(t, asks)
	ended := start(t, s, loop)
	asked := pending(t, k, 6)
	var with []string
	for _, r := range asked[1:] {
		with = append(with, r.ID)
	}
	first := asked[0]
	if sc := first.Script; sc == nil || sc.Line != 3 || sc.Program != loop || sc.Batch != asked[5].Script.Batch || asked[5].Script.Line != 5 {
		t.Errorf("%+v", first.Script)
	}
	if o := first.Script.Offer; o == nil || o.Text != "filesystem.write with path: out/*.txt" {
		t.Errorf("the pattern of the rest is %+v", o)
	}
	kerneltest.Settle(t, k, first.ID, approval.Answer{Approve: true, With: with})
	if r := <-ended; r.Status != tool.Success || text(r) != "6" {
		t.Errorf("%s %s", r.Status, r.Summary)
	}
}

// A yes for the script covers what fits the pattern that was shown, and ends with it.
func TestPatternForTheScript(t *testing.T) {
	t.Parallel()
	k, s, _ := open(t, asks)
	const program = `for i in range(3):
    r = filesystem.write(path="out/%d.txt" % i, content="x")
    print(r.bytes)
filesystem.write(path="other/1.txt", content="x")
result = "done"`
	ended := start(t, s, program)
	asked := pending(t, k, 1)
	kerneltest.Settle(t, k, asked[0].ID, approval.Answer{Approve: true, Script: true})
	other := pending(t, k, 1) // the others ran; this one is outside of the pattern
	if !strings.Contains(string(other[0].Call.Args), "other/1.txt") {
		t.Fatalf("asked about %s", other[0].Call.Args)
	}
	kerneltest.Settle(t, k, other[0].ID, approval.Answer{Approve: true})
	if r := <-ended; r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{Limit: 1000})
	kerneltest.OK(t, err)
	if !slices.ContainsFunc(records, func(r journal.Record) bool {
		return r.Ask != nil && strings.HasPrefix(r.Ask.Reason, "allowed for this script: filesystem.write")
	}) {
		t.Error("no record says that it ran by a yes for the script")
	}
	again := start(t, s, "filesystem.write(path=\"out/9.txt\", content=\"x\")")
	asked = pending(t, k, 1)
	kerneltest.Settle(t, k, asked[0].ID, approval.Answer{})
	if r := <-again; r.Status == tool.Success {
		t.Error("a yes for a script outlived it")
	}
}

// What is denied stays denied, whatever is allowed for the script.
func TestPatternWidensNothing(t *testing.T) {
	t.Parallel()
	k, s, folder := open(t, asks+"    deny:\n      - {module: filesystem, actions: [write], match: {path: out/secret*}}\n")
	ended := start(t, s, `r = filesystem.write(path="out/1.txt", content="x")
print(r)
a = attempt(lambda: filesystem.write(path="out/secret.txt", content="x"))
b = attempt(lambda: filesystem.write(path="callgate.yaml", content="x"))
result = [a.ok, b.ok]`)
	kerneltest.Settle(t, k, pending(t, k, 1)[0].ID, approval.Answer{Approve: true, Script: true})
	asked := pending(t, k, 1) // a change of the rules is approved by itself
	if !strings.Contains(string(asked[0].Call.Args), "callgate.yaml") {
		t.Errorf("asked about %s", asked[0].Call.Args)
	}
	kerneltest.Settle(t, k, asked[0].ID, approval.Answer{})
	if r := <-ended; text(r) != "[false,false]" {
		t.Errorf("%s %s", r.Status, text(r))
	}
	if _, err := os.Stat(filepath.Join(folder, "out", "secret.txt")); err == nil {
		t.Error("what is denied was done")
	}
}

// A no stops the script at its call; a stop is not caught; what waited is withdrawn.
func TestNoAndStop(t *testing.T) {
	t.Parallel()
	k, s, folder := open(t, asks)
	ended := start(t, s, loop)
	asked := pending(t, k, 6)
	kerneltest.Settle(t, k, asked[0].ID, approval.Answer{Approve: true})
	kerneltest.Settle(t, k, asked[1].ID, approval.Answer{Feedback: "not this"})
	r := <-ended
	if r.Status == tool.Success || !strings.Contains(r.Summary, "line 3, column 21: filesystem.write: ") || !strings.Contains(r.Summary, "not this") {
		t.Errorf("%s", r.Summary)
	}
	pending(t, k, 0)
	made, err := os.ReadDir(filepath.Join(folder, "out"))
	if err != nil || len(made) != 1 {
		t.Errorf("%v, %v were made", err, made)
	}
	ended = start(t, s, "a = attempt(lambda: filesystem.write(path=\"a\", content=\"x\"))\nfilesystem.write(path=\"b\", content=\"x\")")
	kerneltest.Settle(t, k, pending(t, k, 1)[0].ID, approval.Answer{Script: true})
	if r := <-ended; r.Status == tool.Success || !strings.Contains(r.Summary, "stopped") {
		t.Errorf("%s %s", r.Status, r.Summary)
	}
}

func TestEditOne(t *testing.T) {
	t.Parallel()
	k, s, folder := open(t, asks)
	ended := start(t, s, "for i in [1, 2]:\n  filesystem.write(path=\"%d.txt\" % i, content=\"x\")\nresult = 1")
	asked := pending(t, k, 2)
	kerneltest.Settle(t, k, asked[0].ID, approval.Answer{Approve: true, Args: json.RawMessage(`{"path":"1.txt","content":"edited"}`)})
	kerneltest.Settle(t, k, asked[1].ID, approval.Answer{Approve: true})
	if r := <-ended; r.Status != tool.Success {
		t.Error(r.Summary)
	}
	if data, _ := os.ReadFile(filepath.Join(folder, "1.txt")); string(data) != "edited" {
		t.Errorf("%q", data)
	}
	if err := k.Approvals.AnswerVouched(t.Context(), approval.Voucher{}, asked[0].ID, approval.Answer{Approve: true}); tool.KindOf(err) != tool.Conflict {
		t.Error(err)
	}
}

// Requests of other scripts, and of none, are not answered along.
func TestWithIsForOneBatch(t *testing.T) {
	t.Parallel()
	k, s, _ := open(t, asks)
	one := start(t, s, "filesystem.write(path=\"a\", content=\"x\")\nresult = 1")
	first := pending(t, k, 1)[0]
	two := start(t, s, "filesystem.write(path=\"b\", content=\"x\")\nresult = 1")
	second := pending(t, k, 2)[1]
	err := k.Approvals.AnswerVouched(t.Context(), approval.Voucher{}, first.ID, approval.Answer{Approve: true, With: []string{second.ID}})
	if tool.KindOf(err) != tool.Invalid {
		t.Errorf("%v", err)
	}
	for _, r := range []approval.Request{first, second} {
		kerneltest.Settle(t, k, r.ID, approval.Answer{Approve: true})
	}
	<-one
	<-two
}

// A script that is made again after a kill makes only what was not made.
func TestMadeAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "tools:\n  capabilities:\n"+auto)
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state, counter(&calls))
	s := kerneltest.OpenAccepted(t, k, folder)
	script := func(s *session.Session, id, program string) *tool.Result {
		args, err := json.Marshal(map[string]string{"program": program})
		kerneltest.OK(t, err)
		return s.Call(t.Context(), session.CallRequest{ID: id, Name: "run_script", Args: args})
	}
	const program = `a = test.count(note="1")
b = parallel([lambda: test.count(note="2"), lambda: test.count(note="3")])
result = [a["n"]] + sorted([x["n"] for x in b])`
	// What a killed kernel leaves: the calls of a script that ended, and no end of its own.
	if r := script(s, "c1", program); text(r) != "[1,2,3]" {
		t.Fatal(r.Summary)
	}
	kerneltest.OK(t, k.Close())
	k = kerneltest.Open(t, state, counter(&calls))
	s = kerneltest.OpenAccepted(t, k, folder)
	if r := script(s, "c1", program); text(r) != "[1,2,3]" || calls.Load() != 3 {
		t.Errorf("%s; %d calls were made", text(r), calls.Load())
	}
	if r := script(s, "c1", program+"\nresult.append(test.count(note=\"4\")[\"n\"])"); text(r) != "[1,2,3,4]" || calls.Load() != 4 {
		t.Errorf("%s; %d calls were made", text(r), calls.Load())
	}
	if r := script(s, "c1", strings.Replace(program, `"1"`, `"other"`, 1)); r.Status == tool.Success ||
		!strings.Contains(r.Summary, "was cut off after its call 1") || calls.Load() != 4 {
		t.Errorf("%s; %d calls were made", r.Summary, calls.Load())
	}
}

// Calls are made side by side, and each has its record as a child.
func TestChildrenAreOnRecord(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	k, s, _ := open(t, auto, counter(&calls))
	r := run(t, s, "result = len(parallel([lambda: test.count()] * 20))")
	if text(r) != "20" || calls.Load() != 20 || r.Summary != "20 calls" {
		t.Errorf("%s %s", r.Summary, text(r))
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{Within: r.Call, Limit: 1000})
	kerneltest.OK(t, err)
	begun := 0
	for _, rec := range records {
		if rec.Kind == journal.Begun && rec.Parent == r.Call {
			begun++
		}
	}
	if begun != 20 {
		t.Errorf("%d children began", begun)
	}
}

// The time of a script is over while it computes, and does not run while a human is asked.
func TestTime(t *testing.T) {
	t.Parallel()
	k, s, _ := open(t, asks)
	begin := func(program string) <-chan *tool.Result {
		ended := make(chan *tool.Result, 1)
		args, _ := json.Marshal(map[string]any{"program": program, "timeout": 1})
		go func() { ended <- s.Call(t.Context(), session.CallRequest{Name: "run_script", Args: args}) }()
		return ended
	}
	asked := begin("x = filesystem.write(path=\"a\", content=\"x\")\nresult = x.bytes")
	request := pending(t, k, 1)[0]
	over := begin("x = shell.bash(command=\"sleep 30\")\nresult = x.exit_code")
	if r := <-over; r.Status == tool.Success || !strings.Contains(r.Summary, "it took more than 1s") {
		t.Errorf("%s %s", r.Status, r.Summary)
	}
	kerneltest.Settle(t, k, request.ID, approval.Answer{Approve: true}) // more than a second later
	if r := <-asked; text(r) != "1" {
		t.Errorf("%s %s", r.Status, r.Summary)
	}
}

// A stop ends the script at once, whichever of its calls it is said to: what waits beside
// that call is withdrawn, what runs beside it is cancelled, and the model is told why.
func TestStopEndsAtOnce(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	k, s, folder := open(t, asks, &tool.Tool{
		ID:      tool.ID{Namespace: "test", Name: "hang", Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: "Hangs.", Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Read},
		Handler: tool.HandlerFunc(func(ctx context.Context, _ tool.Call, _ tool.Grant) (*tool.Result, error) {
			began <- struct{}{}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}),
	})
	for name, test := range map[string]struct {
		program  string
		asked, n int
	}{
		"the last of a loop": {loop, 6, 5},
		"side by side": {"parallel([lambda: test.hang(), lambda: filesystem.write(\"out/a\", \"x\"),\n" +
			"    lambda: attempt(lambda: filesystem.write(\"out/b\", \"x\"))])\nfilesystem.write(\"out/c\", \"x\")", 2, 1},
	} {
		ended := start(t, s, test.program)
		asked := pending(t, k, test.asked)
		if name == "side by side" {
			<-began
		}
		kerneltest.Settle(t, k, asked[test.n].ID, approval.Answer{Script: true, Feedback: "write to staging"})
		r := <-ended
		if r.Status == tool.Success || r.Error.Kind != tool.Denied ||
			!strings.Contains(r.Summary, "the user stopped the script") || !strings.Contains(r.Summary, "write to staging") {
			t.Errorf("%s: %v %s", name, r.Status, r.Summary)
		}
		pending(t, k, 0)
		if made, err := os.ReadDir(filepath.Join(folder, "out")); err == nil && len(made) > 0 {
			t.Errorf("%s: %v were made", name, made)
		}
	}
}

// Who follows a session's scripts is told of each call, its line and how it ended; who
// comes later is told of those so far.
func TestCallsAreFollowed(t *testing.T) {
	t.Parallel()
	k, s, _ := open(t, asks)
	all, stop := k.Scripts.Follow(s.ID())
	other, stopOther := k.Scripts.Follow("another session")
	ended := start(t, s, loop)
	asked := pending(t, k, 6)
	late, stopLate := k.Scripts.Follow(s.ID())
	var with []string
	for _, r := range asked[1:] {
		with = append(with, r.ID)
	}
	kerneltest.Settle(t, k, asked[0].ID, approval.Answer{Approve: true, With: with})
	<-ended
	for _, stop := range []func(){stop, stopOther, stopLate} {
		stop()
	}
	for step := range other {
		t.Errorf("another session is told of %+v", step)
	}
	for name, steps := range map[string]iter.Seq[scripts.Step]{"from the beginning": all, "late": late} {
		last := map[int]scripts.Step{}
		for step := range steps {
			last[step.Number] = step
		}
		var got []string
		for n := range len(last) {
			one := last[n+1]
			got = append(got, fmt.Sprintf("%d %s %s", one.Line, one.Name, one.Status))
		}
		want := "2 filesystem.read success;3 filesystem.write success;" // the loop's first time
		if text := strings.Join(got, ";"); len(got) != 11 || !strings.HasPrefix(text, want) ||
			!strings.HasSuffix(text, "6 filesystem.glob success") || !strings.Contains(last[2].Args, "out/0.txt") {
			t.Errorf("%s: %s; %q", name, text, last[2].Args)
		}
	}
}

// The calls of a script that has ended are on record as they were followed: by its own ID, and
// by that of the call which had it run.
func TestCallsAreOnRecord(t *testing.T) {
	t.Parallel()
	k, s, _ := open(t, auto+"    deny: [{module: filesystem, actions: [delete]}]\n")
	program := `paths = filesystem.glob(pattern="in/*.txt")["paths"]
texts = parallel(filesystem.read, paths)
filesystem.write(path="out.txt", content="x")
attempt(lambda: filesystem.delete(path="in/1.txt"))
attempt(lambda: filesystem.read(path="none.txt"))
result = len(texts)`
	args, err := json.Marshal(map[string]any{"name": "run_script", "params": map[string]string{"program": program}})
	kerneltest.OK(t, err)
	steps, stop := k.Scripts.Follow(s.ID())
	r := s.Call(t.Context(), session.CallRequest{Name: "execute_tool", Args: args})
	stop()
	if r.Status != tool.Success {
		t.Fatalf("%s %s", r.Status, r.Summary)
	}
	followed := map[string]scripts.Step{}
	for step := range steps {
		followed[step.Call] = step
	}
	made, err := k.Scripts.Past(t.Context(), r.Call)
	if err != nil || len(made) != 7 || len(followed) != 7 {
		t.Fatalf("%v: %d on record, %d followed", err, len(made), len(followed))
	}
	for i, got := range made {
		want := followed[got.Call]
		if got.Number != i+1 || got.Script != want.Script || got.Line != want.Line || got.Name != want.Name ||
			got.Status != want.Status || got.Took != want.Took {
			t.Errorf("on record as %+v\nfollowed as  %+v", got, want)
		}
	}
	if last := made[6]; last.Line != 5 || last.Status != tool.Failure || !strings.Contains(last.Args, "none.txt") {
		t.Errorf("%+v", last)
	}
	if again, err := k.Scripts.Past(t.Context(), made[0].Script); err != nil || len(again) != len(made) {
		t.Errorf("%v: %+v", err, again)
	}
}
