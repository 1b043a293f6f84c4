package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"callgate/internal/cli"
	"callgate/internal/peer/terminaltest"
	"callgate/tool"
)

// TestMain makes this test's own binary the program, with some tools of its
// own, so that tests can start real processes.
func TestMain(m *testing.M) {
	terminaltest.Play()
	testscript.Main(inMemory{m}, map[string]func(){
		"callgate":         func() { os.Exit(cli.Main(os.Args[1:], demoTools()...)) },
		"callgate-fixture": fixture,
		"callgate-agent":   playAgent,
		"callgate-person":  playPerson,
	})
}

// inMemory runs tests whose temporary files are in memory where the system has a
// folder for that: no test here proves what a disk keeps.
type inMemory struct{ *testing.M }

func (m inMemory) Run() int {
	dir, err := os.MkdirTemp("/dev/shm", "callgate-cli-")
	if err != nil {
		return m.M.Run()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		panic(err)
	}
	return m.M.Run()
}

// demoTools are tools whose behaviour a script can rely on.
func demoTools() []*tool.Tool {
	return []*tool.Tool{
		demo("echo", tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true}, echo),
		demo(
			"risky",
			tool.Runtime{Risk: tool.High, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}}},
			risky,
		),
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

// playPerson is a program of the setup: it runs its arguments as a person at a terminal does.
func playPerson() {
	dir, _ := os.Getwd()
	e, err := terminaltest.Try(terminaltest.Program{Args: os.Args[1:], Dir: dir, Types: typing()})
	if err != nil || e.Failed != "" {
		_, _ = os.Stderr.WriteString("person: " + e.Failed + "\n")
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString(e.Out)
	_, _ = os.Stderr.WriteString(e.Err)
	os.Exit(e.Exit)
}

// typing is what a person types: the code that is shown, a yes, a value of a secret, an answer.
func typing() []terminaltest.Typing {
	sees := `type (\w{4}) |\[(y)/N\]|\((i)t is not shown\): |\[(a)\]pprove  \[d\]eny[^>]*>|your (a)nswer >`
	one := terminaltest.Typing{Sees: sees, Text: "$1$2$3$4$5\n"}
	return slices.Repeat([]terminaltest.Typing{one}, 20)
}
