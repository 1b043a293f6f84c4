package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/artifact"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/gate/permission"
	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/internal/registry"
	"callgate/internal/secret"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

const humanKey = "the-human's-key-for-tests"

// harness is a gate on real stores, with a caller in a real folder.
type harness struct {
	*gate.Gate
	id      gate.Identity
	at      gate.Place
	rules   gate.Rules
	modules gate.Modules
	locks   *lock.Table
	tools   *registry.Registry
	sources int
}

func open(t testing.TB, limits gate.Limits) *harness {
	t.Helper()
	return openIn(t, t.TempDir(), limits)
}

func openIn(t testing.TB, state string, limits gate.Limits) *harness {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(state, "callgate.db"))
	ok(t, err)
	j, err := journal.Open(
		t.Context(),
		db.Journal(),
		journal.Options{Anchor: filepath.Join(state, "anchor"), KeyFile: filepath.Join(state, "key")},
	)
	ok(t, err)
	artifacts, err := artifact.Open(filepath.Join(state, "artifacts"))
	ok(t, err)
	vault, err := secret.Open(filepath.Join(state, "secrets.json"))
	ok(t, err)
	h := &harness{tools: &registry.Registry{}, locks: lock.New()}
	queue := approval.New(db.Approvals(), approval.Options{
		Key: humanKey, Kernel: os.Getpid(),
	})
	permissions := permission.NewTable(func(context.Context, permission.Decided) {})
	h.Gate = gate.New(gate.Config{
		Permissions: permissions,
		Tools:       h.tools, Journal: j, Locks: lockqueue.Local(h.locks), Rates: &policy.Limiter{}, Approvals: queue, Artifacts: artifacts, Secrets: vault, Limits: limits,
	})
	queue.SetHooks(approval.Hooks{
		Settled: h.RecordAnswer, CheckEdit: h.CheckEdit,
		Allowed: func(_ context.Context, r approval.Request) {
			if e, offered, err := permission.FromAnswer(r); err == nil && offered {
				permissions.Allow(r.Call.Principal.Session, e)
			}
		},
	})
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	root, err := os.OpenRoot(workspace)
	ok(t, err)
	h.id.Principal = tool.Principal{User: "ada", App: "test", Session: "s1"}
	h.at = gate.Place{Workspace: workspace, Root: root}
	t.Cleanup(func() { queue.Close(); ok(t, j.Close()); ok(t, db.Close()); ok(t, root.Close()) })
	return h
}

// caller is on whose behalf calls are made now.
func (h *harness) caller() *gate.Caller {
	c, err := gate.NewCaller(h.id, h.at, h.rules, h.modules, gate.Observer{})
	if err != nil {
		panic(err)
	}
	return c
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add registers one tool.
func (h *harness) add(t testing.TB, id, schema string, r tool.Runtime, run tool.HandlerFunc) *tool.Tool {
	t.Helper()
	parsed, err := tool.ParseID(id)
	ok(t, err)
	made := &tool.Tool{ID: parsed, Spec: tool.Spec{Description: "a tool for tests", Input: json.RawMessage(schema)}, Runtime: r, Handler: run}
	h.sources++
	ok(t, h.tools.Add(registry.Global, registry.Static{Source: fmt.Sprint("test", h.sources), List: []*tool.Tool{made}}))
	return made
}

func (h *harness) call(t testing.TB, name, args string) *tool.Result {
	t.Helper()
	return h.Call(t.Context(), h.caller(), gate.CallRequest{Name: name, Args: json.RawMessage(args)})
}

// story returns the records of a call as lines: kind, verdict or status.
func (h *harness) story(t testing.TB, call string) string {
	t.Helper()
	ok(t, h.Journal.Flush(t.Context()))
	records, err := h.Journal.Read(t.Context(), journal.Query{Call: call})
	ok(t, err)
	var lines []string
	for _, r := range records {
		line := string(r.Kind)
		if r.Ask != nil {
			line += " " + string(r.Ask.Verdict)
		}
		if r.Answer != nil {
			line += " " + r.Answer.Verdict
		}
		if r.End != nil {
			line += " " + string(r.End.Status)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

const anyObject = `{"type":"object"}`

var (
	reads  = tool.Runtime{SideEffect: tool.Read, Risk: tool.Low}
	writes = tool.Runtime{SideEffect: tool.Write, Risk: tool.Low}
	asks   = tool.Runtime{SideEffect: tool.Write, Risk: tool.High}
)

func says(words string) tool.HandlerFunc {
	return func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return tool.OK(words, nil) }
}

func TestRecordsOfEachKindOfCall(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	h.add(t, "t:read@1.0.0", anyObject, reads, says("seen"))
	h.add(t, "t:write@1.0.0", anyObject, writes, says("written"))
	h.add(t, "t:fail@1.0.0", anyObject, writes, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return nil, errors.New("the disk is on fire")
	})
	h.add(t, "t:panic@1.0.0", anyObject, writes, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { panic("oops") })
	h.add(t, "t:strict@1.0.0", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, writes, says("counted"))
	for _, c := range []struct{ name, args, status, summary, story string }{
		{"t.read", `{}`, "success", "seen", "ended allow success"},
		{"t.write", `{}`, "success", "written", "asked allow, begun, ended success"},
		{"t.fail", `{}`, "error", "the disk is on fire", "asked allow, begun, ended error"},
		{"t.panic", `{}`, "error", "the tool panicked: oops", "asked allow, begun, noted, ended error"},
		{"t.strict", `{"n":"x"}`, "error", "n", "asked refuse"},
		{"t.strict", `{"n":"7"}`, "success", "counted", "asked allow, begun, ended success"},
		{"t.nothing_like_it", `{}`, "error", "there is no tool", "asked refuse"},
	} {
		r := h.call(t, c.name, c.args)
		if string(r.Status) != c.status || !strings.Contains(r.Summary, c.summary) {
			t.Errorf("%s %s: %s %q, want %s %q", c.name, c.args, r.Status, r.Summary, c.status, c.summary)
		}
		if got := h.story(t, r.Call); got != c.story {
			t.Errorf("%s %s: the journal tells %q, want %q", c.name, c.args, got, c.story)
		}
	}
	report, err := h.Journal.Verify(t.Context())
	ok(t, err)
	if !report.OK() {
		t.Errorf("the journal does not verify: %+v", report)
	}
}

func TestHiddenToolDoesNotExist(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	h.add(t, "hidden:tool@1.0.0", anyObject, reads, says("never"))
	h.add(t, "denied:tool@1.0.0", anyObject, reads, says("never"))
	rules, err := policy.Compile(
		&policy.Capabilities{
			DefaultPolicy: "auto",
			HiddenModules: []string{"hidden"},
			Deny:          []policy.Entry{{Module: "denied", Reason: "not here"}},
		},
		nil,
	)
	ok(t, err)
	h.rules.Policy = rules
	for _, name := range []string{"hidden.tool", "hidden__tool", "hidden:tool@1.0.0", "hidden.toll", "nothing.tool"} {
		r := h.call(t, name, `{}`)
		if r.Error == nil || r.Error.Kind != tool.NotFound || strings.Contains(strings.ReplaceAll(r.Summary, name, ""), "hidden.tool") {
			t.Errorf("%s: %s %q %+v", name, r.Status, r.Summary, r.Error)
		}
	}
	if r := h.call(t, "denied.tool", `{}`); r.Status != tool.Refused || !strings.Contains(r.Summary, "not here") {
		t.Errorf("denied: %s %q", r.Status, r.Summary)
	}
	h.id.Principal.Daemon = true
	if r := h.call(t, "hidden.tool", `{}`); r.Status != tool.Success {
		t.Errorf("the daemon may call what is hidden: %q", r.Summary)
	}
	if r := h.call(t, "denied.tool", `{}`); r.Status != tool.Refused {
		t.Errorf("the daemon may not call what is denied: %q", r.Summary)
	}
}

func TestCoercionIsReportedEverywhere(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var got json.RawMessage
	h.add(
		t,
		"t:count@1.0.0",
		`{"type":"object","properties":{"n":{"type":"integer"}}}`,
		writes,
		func(_ context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
			got = c.Args
			return tool.OK("ok", nil)
		},
	)
	r := h.call(t, "t.count", `{"n":"40"}`)
	if string(got) != `{"n":40}` || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "40") {
		t.Errorf("the handler got %s, the asker was told %q", got, r.Warnings)
	}
	ok(t, h.Journal.Flush(t.Context()))
	records, err := h.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Asked})
	ok(t, err)
	if len(records) != 1 || len(records[0].Ask.Coercions) != 1 || string(records[0].Ask.Args) != `{"n":40}` {
		t.Errorf("the journal tells %+v", records)
	}
}

func TestTimeoutStopsTheHandlerBeforeTheLocksGo(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{Grace: time.Hour})
	stopped := make(chan struct{})
	h.add(
		t,
		"t:slow@1.0.0",
		anyObject,
		tool.Runtime{
			SideEffect: tool.Write,
			Risk:       tool.Low,
			Timeout:    time.Millisecond,
			Effects:    []tool.Effect{{Resource: "workspace", Mode: tool.X}},
		},
		func(ctx context.Context, _ tool.Call, _ tool.Grant) (*tool.Result, error) {
			<-ctx.Done()
			held := h.locks.Snapshot().Held
			if len(held) == 0 {
				t.Error("the locks were gone while the handler was still at work")
			}
			close(stopped)
			return nil, ctx.Err()
		},
	)
	r := h.call(t, "t.slow", `{}`)
	<-stopped
	if r.Error == nil || r.Error.Kind != tool.Timeout {
		t.Errorf("result %+v", r)
	}
	if held := h.locks.Snapshot().Held; len(held) != 0 {
		t.Errorf("locks left behind: %v", held)
	}
	if got := h.story(t, r.Call); got != "asked allow, begun, ended error" {
		t.Errorf("story %q", got)
	}
}

func TestHandlerThatDoesNotStopKeepsItsLocks(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{Grace: time.Millisecond})
	release := make(chan struct{})
	h.add(
		t,
		"t:deaf@1.0.0",
		anyObject,
		tool.Runtime{
			SideEffect: tool.Write,
			Risk:       tool.Low,
			Timeout:    time.Millisecond,
			Effects:    []tool.Effect{{Resource: "workspace", Mode: tool.X}},
		},
		func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			<-release
			return tool.OK("late", nil)
		},
	)
	r := h.call(t, "t.deaf", `{}`)
	if r.Error == nil || r.Error.Kind != tool.Timeout || !strings.Contains(r.Summary, "did not stop") {
		t.Fatalf("result %+v", r)
	}
	held := h.locks.Snapshot().Held
	if len(held) != 1 || held[0].Holder.Call != r.Call || !held[0].Expired {
		t.Errorf("held: %+v", held)
	}
	close(release)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for rec, err := range h.Journal.Follow(ctx, 0) { // until the journal tells that it stopped
		ok(t, err)
		if rec.Kind == journal.Noted {
			break
		}
	}
	if held := h.locks.Snapshot().Held; len(held) != 0 {
		t.Errorf("still held: %+v", held)
	}
}

func TestCancelledCallIsStillEnded(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	h.add(t, "t:hang@1.0.0", anyObject, writes, func(ctx context.Context, _ tool.Call, _ tool.Grant) (*tool.Result, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r := h.Call(ctx, h.caller(), gate.CallRequest{Name: "t.hang"})
	if r.Error == nil || r.Error.Kind != tool.Cancelled {
		t.Errorf("result %+v", r)
	}
	if got := h.story(t, r.Call); got != "asked allow, begun, ended error" {
		t.Errorf("story %q", got)
	}
}

func TestSecretsReachOnlyTheHandler(t *testing.T) {
	const value = "s3cr3t-value-of-the-test"
	t.Setenv("TEST_DOOR_VALUE", value)
	h := open(t, gate.Limits{})
	r := writes
	r.Secrets = []string{"TEST_DOOR_VALUE"}
	h.add(t, "t:leak@1.0.0", anyObject, r, func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
		if g.Secrets["TEST_DOOR_VALUE"] != value {
			t.Error("the handler did not get its secret")
		}
		res, err := tool.OK("it is "+value, map[string]string{"token": value})
		res.Content = []tool.Content{tool.Text("and here: " + value)}
		return res, err
	})
	h.add(t, "t:echo@1.0.0", anyObject, writes, func(_ context.Context, c tool.Call, g tool.Grant) (*tool.Result, error) {
		if len(g.Secrets) != 0 {
			t.Error("a tool that names no secret got one")
		}
		return nil, fmt.Errorf("failed with %s", c.Args)
	})
	for _, res := range []*tool.Result{h.call(t, "t.leak", `{}`), h.call(t, "t.echo", `{"x":"`+value+`"}`)} {
		if data, _ := json.Marshal(res); strings.Contains(string(data), value) {
			t.Errorf("the asker was told the secret: %s", data)
		}
	}
	ok(t, h.Journal.Flush(t.Context()))
	var dump strings.Builder
	ok(t, h.Journal.Export(t.Context(), &dump, journal.Query{}))
	if strings.Contains(dump.String(), value) || !strings.Contains(dump.String(), "[secret TEST_DOOR_VALUE]") {
		t.Errorf("the journal: %s", dump.String())
	}
}

func TestLargeThingsBecomeArtifacts(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{Result: 1000, Inline: 500})
	long := strings.Repeat("0123456789", 1000)
	h.add(t, "t:long@1.0.0", anyObject, writes, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return &tool.Result{Summary: "long", Content: []tool.Content{tool.Text(long)}}, nil
	})
	r := h.call(t, "t.long", `{"x":"`+long+`"}`)
	if r.Status != tool.Success || len(r.Content) != 1 || len(r.Content[0].Text) > 1100 || !strings.HasPrefix(r.Content[0].Text, "0123") ||
		!strings.HasSuffix(r.Content[0].Text, "789…") || r.Cut == nil || *r.Cut != (tool.Cut{
		Unit: "bytes", Last: 1000, Total: 10_000, Tool: "artifact.read", Next: "ref=" + r.Call}) {
		t.Fatalf("result %+v", r)
	}
	whole, err := h.Artifacts.Get(t.Context(), r.ArtifactRef)
	ok(t, err)
	if string(whole) != long {
		t.Errorf("the artifact has %d bytes", len(whole))
	}
	ok(t, h.Journal.Flush(t.Context()))
	records, err := h.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Asked})
	ok(t, err)
	args, err := h.Artifacts.Get(t.Context(), records[0].Ask.ArgsRef)
	ok(t, err)
	if string(args) != `{"x":"`+long+`"}` {
		t.Errorf("the arguments have %d bytes", len(args))
	}
}

func TestResultIsShownOnlyToItsLane(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	data := func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return tool.OK("found", map[string]int{"n": 1})
	}
	core, masked := reads, reads
	core.Exposure, masked.PromptMask = tool.Core, true
	h.add(t, "t:core@1.0.0", anyObject, core, data)
	h.add(t, "t:masked@1.0.0", anyObject, masked, data)
	for _, c := range []struct {
		lane, name string
		shown      bool
	}{{"edge", "t.core", false}, {"core", "t.core", true}, {"", "t.core", true}, {"core", "t.masked", false}} {
		h.id.Principal.Lane = c.lane
		r := h.call(t, c.name, `{}`)
		if (len(r.Data) > 0) != c.shown || r.Summary != "found" {
			t.Errorf("%s in lane %q: %+v", c.name, c.lane, r)
		}
		if !c.shown && r.ArtifactRef == "" {
			t.Errorf("%s in lane %q: what was withheld is lost", c.name, c.lane)
		}
	}
}

// A result that is kept back is not repeated by its summary, nor by an error.
func TestSummaryDoesNotRepeatWhatIsKeptBack(t *testing.T) {
	t.Parallel()
	const value = "the-value-of-the-result"
	long := `{"n":"` + strings.Repeat(value, 100) + `"}`
	nobody, masked := reads, reads
	nobody.Exposure, masked.PromptMask = tool.Nobody, true
	for name, answer := range map[string]func() (*tool.Result, error){
		"plain JSON":      func() (*tool.Result, error) { return tool.FromJSON(json.RawMessage(" {\"n\": \"" + value + "\"}\n")) },
		"long plain JSON": func() (*tool.Result, error) { return tool.FromJSON(json.RawMessage(long)) },
		"a plain string":  func() (*tool.Result, error) { return tool.FromJSON(json.RawMessage(`"` + value + `"`)) },
		"text": func() (*tool.Result, error) {
			return &tool.Result{Summary: value, Content: []tool.Content{tool.Text("it is " + value)}}, nil
		},
		"a failure": func() (*tool.Result, error) {
			return tool.FromJSON(json.RawMessage(`{"status":"error","summary":"` + value + `","data":"` + value + `"}`))
		},
	} {
		h := open(t, gate.Limits{})
		handler := func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return answer() }
		h.add(t, "t:nobody@1.0.0", anyObject, nobody, handler)
		h.add(t, "t:masked@1.0.0", anyObject, masked, handler)
		for _, call := range []string{"t.nobody", "t.masked"} {
			r := h.call(t, call, `{}`)
			text, err := json.Marshal(r)
			ok(t, err)
			if strings.Contains(string(text), value) || r.ArtifactRef == "" || r.Summary == "" {
				t.Errorf("%s of %s is answered with %s", name, call, text)
			}
		}
	}
}

// The app's mask covers everything in a result, also values under a name.
func TestMaskCoversResults(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	h.modules.Mask = func(s string) string {
		return regexp.MustCompile(`sk-\w+|password=\S+`).ReplaceAllString(s, "[masked]")
	}
	const value = "sk-abc"
	h.add(t, "t:all@1.0.0", anyObject, reads, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return &tool.Result{
			Status: tool.Success, Summary: "is " + value, Warnings: []string{"see " + value},
			Data:    json.RawMessage(`{"b": ["x ` + value + `"], "password":"hunter","a":{"n":1.50}}`),
			Content: []tool.Content{tool.Text("key " + value), tool.Text(`{"password":"hunter"}`)},
		}, nil
	})
	h.add(t, "t:fails@1.0.0", anyObject, reads, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return nil, tool.Errorf("t", tool.Failed, "bad key %s", value).WithHint("not %s", value)
	})
	h.add(t, "t:plain@1.0.0", anyObject, reads, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return &tool.Result{Status: tool.Success, Summary: "ok", Data: json.RawMessage(`{"b": 1.50, "a": "<x>"}`)}, nil
	})
	for _, name := range []string{"t.all", "t.fails"} {
		r := h.call(t, name, `{}`)
		text, err := json.Marshal(r)
		ok(t, err)
		if strings.Contains(string(text), value) || strings.Contains(string(text), "hunter") ||
			!strings.Contains(string(text), "[masked]") {
			t.Errorf("%s is answered with %s", name, text)
		}
	}
	if r := h.call(t, "t.all", `{}`); string(r.Data) != `{"b": ["x [masked]"], "password":"[masked]","a":{"n":1.50}}` {
		t.Errorf("the data is %s", r.Data)
	}
	if r := h.call(t, "t.plain", `{}`); string(r.Data) != `{"b": 1.50, "a": "<x>"}` {
		t.Errorf("data without secrets became %s", r.Data)
	}
}

func TestOutputSchemaMismatchIsAWarning(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	made := h.add(t, "t:odd@1.0.0", anyObject, writes, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return tool.OK("done", map[string]any{"n": "text"})
	})
	made.Spec.Output = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	r := h.call(t, "t.odd", `{}`)
	if r.Status != tool.Success || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "output schema") {
		t.Errorf("result %+v", r)
	}
}

// Two calls that write the same file wait for each other, whatever they call
// it; the second is told who holds it.
func TestCanonicalPathsMeetAtOneLock(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{LockWait: 20 * time.Millisecond})
	ok(t, os.Mkdir(filepath.Join(h.at.Workspace, "real"), 0o755))
	ok(t, os.Symlink("real", filepath.Join(h.at.Workspace, "link")))
	ok(t, os.Symlink("/", filepath.Join(h.at.Workspace, "out")))
	ok(t, os.Symlink("real/new.txt", filepath.Join(h.at.Workspace, "dangling")))
	r := writes
	r.Effects = []tool.Effect{{Resource: "file:{path}", Mode: tool.X}}
	const schema = `{"type":"object","properties":{"path":{"type":["string","array"]},"hold":{"type":"boolean"}}}`
	holding, release := make(chan struct{}), make(chan struct{})
	h.add(t, "t:write@1.0.0", schema, r, func(_ context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
		if strings.Contains(string(c.Args), "hold") {
			close(holding)
			<-release
		}
		return tool.OK("ok", nil)
	})
	var wg sync.WaitGroup
	wg.Go(func() { h.call(t, "t.write", `{"path":"real/new.txt","hold":true}`) })
	<-holding
	for _, same := range []string{`"link/new.txt"`, `"./real/../link/new.txt"`, `"dangling"`, `"` + h.at.Workspace + `/real/new.txt"`, `["other.txt","link/new.txt"]`, `"real"`} {
		res := h.call(t, "t.write", `{"path":`+same+`}`)
		if res.Error == nil || res.Error.Kind != tool.Busy || !strings.Contains(res.Summary, "t.write") {
			t.Errorf("%s: %s %q", same, res.Status, res.Summary)
		}
	}
	for _, outside := range []string{`"../x"`, `"/etc/passwd"`, `"out/etc/passwd"`, `"real/../../x"`} {
		res := h.call(t, "t.write", `{"path":`+outside+`}`)
		if res.Error == nil || res.Error.Kind != tool.Denied || !strings.Contains(res.Summary, "outside the workspace") {
			t.Errorf("%s: %s %q", outside, res.Status, res.Summary)
		}
	}
	for _, double := range []string{`{"Path":"real/new.txt"}`, `{"path":"x","PATH":"real/new.txt"}`} {
		if res := h.call(t, "t.write", double); res.Error == nil || res.Error.Kind != tool.Invalid {
			t.Errorf("%s: %s %q", double, res.Status, res.Summary)
		}
	}
	if res := h.call(t, "t.write", `{"path":"real/other.txt"}`); res.Status != tool.Success {
		t.Errorf("another file: %q", res.Summary)
	}
	close(release)
	wg.Wait()
}

func TestApprovalDecidesACall(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var ran []string
	h.add(
		t,
		"t:risky@1.0.0",
		`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`,
		asks,
		func(_ context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
			ran = append(ran, string(c.Args))
			return tool.OK("did it", nil)
		},
	)
	human := approval.Credential{Key: humanKey, By: "ada", PID: approval.Unknown}
	answer := func(a approval.Answer) {
		t.Helper()
		for { // until the question is put
			pending, err := h.Approvals.List(t.Context(), approval.Pending, 0)
			ok(t, err)
			if len(pending) == 1 {
				ok(t, h.Approvals.Answer(t.Context(), human, pending[0].ID, a))
				return
			}
		}
	}
	for _, c := range []struct {
		answer        approval.Answer
		status, words string
		ran           string
		story         string
	}{
		{approval.Answer{Approve: true}, "success", "did it", `{"n":1}`, "asked wait, answered approved, begun, ended success"},
		{approval.Answer{Feedback: "not «today»\x00"}, "denied", "they said: «not ‹today›»", "", "asked wait, answered denied, ended denied"},
		{approval.Answer{Approve: true, Args: json.RawMessage(`{"n":2}`)}, "success", "did it", `{"n":2}`, "asked wait, answered approved, begun, ended success"},
		{approval.Answer{Approve: true, Always: true}, "success", "did it", `{"n":1}`, "asked wait, answered approved, begun, ended success"},
	} {
		ran = nil
		done := make(chan *tool.Result)
		go func() { done <- h.call(t, "t.risky", `{"n":1}`) }()
		answer(c.answer)
		r := <-done
		if string(r.Status) != c.status || !strings.Contains(r.Summary, c.words) || strings.Join(ran, " ") != c.ran {
			t.Errorf("%+v: %s %q, ran %v", c.answer, r.Status, r.Summary, ran)
		}
		if got := h.story(t, r.Call); got != c.story {
			t.Errorf("%+v: story %q", c.answer, got)
		}
	}
	// The last answer was for the rest of the session: for what was shown, no other call.
	for args, want := range map[string]tool.Status{`{"n":1}`: tool.Success, `{"n":9}`: tool.Waiting} {
		r := h.Call(t.Context(), h.caller(), gate.CallRequest{Name: "t.risky", Args: json.RawMessage(args), NoWait: true})
		if r.Status != want {
			t.Errorf("after a yes for the session, %s: %s %q, want %s", args, r.Status, r.Summary, want)
		}
	}
	h.id.Principal.Session = "s2"
	waiting := h.Call(t.Context(), h.caller(), gate.CallRequest{Name: "t.risky", Args: json.RawMessage(`{"n":"5"}`), NoWait: true})
	if waiting.Status != tool.Waiting || waiting.Approval == "" {
		t.Fatalf("another session: %+v", waiting)
	}
	err := h.Approvals.Answer(t.Context(), human, waiting.Approval, approval.Answer{Approve: true, Args: json.RawMessage(`{"m":1}`)})
	if tool.KindOf(err) != tool.Invalid {
		t.Errorf("an edit that cannot run was taken: %v", err)
	}
	ok(t, h.Approvals.Answer(t.Context(), human, waiting.Approval, approval.Answer{Approve: true, Args: json.RawMessage(`{"n":6}`)}))
	err = h.Approvals.Answer(t.Context(), human, waiting.Approval, approval.Answer{})
	if tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second answer: %v", err)
	}
	r, err := h.Approvals.Get(t.Context(), waiting.Approval)
	ok(t, err)
	ran = nil
	if !h.Approvals.Reserve(r.ID) {
		t.Fatal("nobody else should have claimed it")
	}
	resumed := h.Resume(t.Context(), h.caller(), r)
	collected, err := h.Collect(t.Context(), waiting.Call)
	ok(t, err)
	if resumed.Status != tool.Success || collected.Summary != "did it" || strings.Join(ran, " ") != `{"n":6}` {
		t.Errorf("resumed %+v, collected %+v, ran %v", resumed, collected, ran)
	}
}

func TestCallsPastTheRateLimitAreRefused(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	h.add(t, "t:read@1.0.0", `{"type":"object","additionalProperties":false}`, reads, says("seen"))
	rules, err := policy.Compile(&policy.Capabilities{DefaultPolicy: "auto", RateLimits: map[string]int{"t": 2}}, nil)
	ok(t, err)
	h.rules.Policy = rules
	h.call(t, "t.read", `{"bad":1}`) // what does not pass the schema is not counted
	for i, want := range []tool.Status{tool.Success, tool.Success, tool.Refused} {
		if r := h.call(t, "t.read", `{}`); r.Status != want {
			t.Errorf("call %d: %s %q", i+1, r.Status, r.Summary)
		}
	}
}
