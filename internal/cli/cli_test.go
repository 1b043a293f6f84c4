package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"callgate/internal/cli"
	"callgate/internal/statedir"
	"callgate/tool"
)

// TestMain makes this test's own binary the program, with some tools of its
// own, so that scripts run real processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"callgate":         func() { os.Exit(cli.Main(os.Args[1:], demoTools()...)) },
		"callgate-fixture": fixture,
	})
}

// demoTools are tools whose behaviour a script can rely on.
func demoTools() []*tool.Tool {
	return []*tool.Tool{
		demo("echo", tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true}, echo),
		demo("risky", tool.Runtime{Risk: tool.High, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}}}, risky),
		demo("wait", tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}}}, wait),
		demo("long", tool.Runtime{Risk: tool.Low, SideEffect: tool.None}, long),
	}
}

func demo(name string, r tool.Runtime, run func(context.Context, arguments) (*tool.Result, error)) *tool.Tool {
	id := tool.ID{Namespace: "demo", Name: name, Version: tool.Version{Major: 1}}
	return &tool.Tool{
		ID: id, Runtime: r,
		Spec: tool.Spec{
			Name: id.Dotted(), Description: "Demonstrates " + name + ". A demo tool does little, and says so.",
			Input: json.RawMessage(demoSchema), Aliases: []string{"try_" + name},
			Examples: []tool.Example{{Note: "the least", Args: json.RawMessage(`{"path":"a b"}`)}},
		},
		Handler: tool.HandlerFunc(func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
			var in arguments
			if err := json.Unmarshal(call.Args, &in); err != nil {
				return nil, err
			}
			in.raw = call.Args
			return run(ctx, in)
		}),
	}
}

const demoSchema = `{"type":"object","properties":{
	"path":{"type":"string","description":"what to name"},
	"max_lines":{"type":"integer","description":"how many","default":3},
	"deep":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"}},
	"extra":{"type":"object"},
	"fail":{"type":"string","description":"how to fail","enum":["failed","busy","timeout","in_doubt"]},
	"text":{"type":"boolean","description":"answer with text"}
},"required":["path"],"additionalProperties":false}`

type arguments struct {
	Path string `json:"path"`
	Fail string `json:"fail"`
	Text bool   `json:"text"`
	raw  json.RawMessage
}

func echo(_ context.Context, in arguments) (*tool.Result, error) {
	if in.Fail != "" {
		return nil, tool.Errorf("demo.echo", tool.Kind(in.Fail), "told to fail").WithHint("do not tell it to")
	}
	r := &tool.Result{Summary: "echoed " + in.Path, Data: in.raw}
	if in.Text {
		r.Content = []tool.Content{tool.Text("text of " + in.Path)}
	}
	return r, nil
}

func risky(_ context.Context, in arguments) (*tool.Result, error) {
	return &tool.Result{Summary: "did " + in.Path, Data: in.raw}, nil
}

func wait(ctx context.Context, _ arguments) (*tool.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func long(_ context.Context, in arguments) (*tool.Result, error) {
	return &tool.Result{Summary: "a long text", Content: []tool.Content{tool.Text(strings.Repeat(in.Path+" and so on\n", 10_000))}}, nil
}

// quickRace keeps processes under the race detector from sleeping a second
// before each ends.
const quickRace = "atexit_sleep_ms=0"

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("CALLGATE_STATE", filepath.Join(e.WorkDir, "state"))
			e.Setenv("TZ", "UTC")
			e.Setenv("GORACE", quickRace)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "until": until, "running": running, "capture": capture, "replace": replace,
		},
	})
}

// exits CODE program [args...]: the program ends with that very code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ended *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &ended) {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// until PATTERN program [args...]: run the program again until its standard
// output matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_ = ts.Exec(args[1], args[2:]...)
		if pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(limit) {
			ts.Fatalf("%q was never said", args[0])
		}
	}
}

// running: wait until a kernel answers on the script's state directory.
func running(ts *testscript.TestScript, _ bool, _ []string) {
	dir, err := statedir.At(ts.Getenv("CALLGATE_STATE"))
	ts.Check(err)
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("unix", dir.Socket())
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(limit) {
			ts.Fatalf("no kernel answers: %v", err)
		}
	}
}

// capture NAME FILE PATTERN: keep the first group of the pattern's first match
// in a file, or in stdout or stderr, as a variable.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if found == nil {
		ts.Fatalf("%s does not match %q", args[1], args[2])
	}
	ts.Setenv(args[0], found[1])
}

// replace FILE OLD NEW: change a file as someone with bad intentions would.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	changed := strings.Replace(string(data), args[1], args[2], 1)
	if changed == string(data) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, []byte(changed), 0o600))
}
