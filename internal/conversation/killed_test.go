package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/agent"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/programtest"
	"callgate/llm"
	"callgate/tool"
)

// doomedVar makes this program a kernel that runs one turn and is killed in it.
const doomedVar = "CALLGATE_TEST_DOOMED"

// marks is a tool that leaves a line in a file for each time it runs. With hang
// it then waits for its end.
func marks(folder string) *tool.Tool {
	type in struct {
		Mark string `json:"mark"`
		Hang bool   `json:"hang,omitempty"`
	}
	made, err := tool.Func("demo.mark", "Leaves a mark.", tool.Runtime{Risk: tool.Low, SideEffect: tool.Write},
		func(ctx context.Context, in in) (map[string]string, error) {
			f, err := os.OpenFile(filepath.Join(folder, "marks"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			if _, err := fmt.Fprintln(f, in.Mark); err != nil {
				return nil, err
			}
			if in.Hang {
				fmt.Println("hanging")
				<-ctx.Done()
			}
			return map[string]string{"marked": in.Mark}, nil
		})
	if err != nil {
		panic(err)
	}
	return made
}

func playDoomed(state string) {
	ctx := context.Background()
	folder := os.Getenv("CALLGATE_TEST_FOLDER")
	k, err := kernel.Open(ctx, kernel.Config{State: state, Tools: []*tool.Tool{marks(folder)}})
	if err != nil {
		panic(err)
	}
	talk, err := k.Conversations.Open(ctx, conversation.Spec{Workspace: folder})
	if err != nil {
		panic(err)
	}
	fmt.Println(talk.ID())
	if words := os.Getenv("CALLGATE_TEST_QUEUE"); words != "" {
		go queueWhenItRuns(ctx, talk, words)
	}
	asked := func(approval.Request) { fmt.Println("hanging") }
	_, _ = talk.Send(ctx, llm.TextMessage(llm.User, "leave marks"), conversation.Watch{Asked: asked})
	if job := os.Getenv("CALLGATE_TEST_JOB"); job != "" {
		for range time.Tick(5 * time.Millisecond) {
			if got, err := k.Conversations.Task(ctx, talk.ID(), talk.ID()+job); err == nil && got.Status != "running" {
				fmt.Println("hanging")
				programtest.Hang()
			}
		}
	}
	fmt.Println("ended")
}

// A turn whose kernel is killed goes on where it was, whenever that is, and
// nothing is done twice.
func TestTurnGoesOnAfterItsKernelWasKilled(t *testing.T) {
	t.Parallel()
	mark := func(n int, more string) string { return fmt.Sprintf(`demo__mark {"mark":"m%d"%s}`, n, more) }
	for name, c := range map[string]doomed{
		"while the model thinks": {
			nil, 1, false, []kerneltest.Answer{{Calls: []string{mark(1, "")}}, {Text: "done"}}, "m1", "m1",
		},
		"while the model answers": {
			[]kerneltest.Answer{{Calls: []string{mark(3, "")}}}, 1, true, []kerneltest.Answer{{Calls: []string{mark(1, "")}}, {Text: "done"}}, "m1", "m1",
		},
		"after the calls": {
			[]kerneltest.Answer{{Calls: []string{mark(1, ""), mark(2, "")}}}, 2, false, []kerneltest.Answer{{Text: "done"}}, "m1 m2", "m2",
		},
		"in the middle of a call": {
			[]kerneltest.Answer{{Calls: []string{mark(1, ""), mark(2, `,"hang":true`)}}}, 0, false, []kerneltest.Answer{{Text: "done"}}, "m1 m2", "may or may not have happened",
		},
	} {
		for _, through := range []string{"direct", "discovery"} {
			t.Run(name+", "+through, func(t *testing.T) { killAndResume(t, c, through) })
		}
	}
}

// doomed is one way to die.
type doomed struct {
	before []kerneltest.Answer // what the model says to the kernel that dies
	gated  int                 // which request it never answers; 0: all are answered
	within bool                // it answers that request in part
	after  []kerneltest.Answer // what it says to the next
	marks  string
	told   string // what the model is told of the calls
}

// inside has calls be made by execute_tool.
func inside(lines []kerneltest.Answer) []kerneltest.Answer {
	out := make([]kerneltest.Answer, len(lines))
	for i, l := range lines {
		out[i].Text = l.Text
		for _, c := range l.Calls {
			_, args, _ := strings.Cut(c, " ")
			out[i].Calls = append(out[i].Calls, `execute_tool {"name":"demo.mark","params":`+args+`}`)
		}
	}
	return out
}

func killAndResume(t *testing.T, c doomed, through string) {
	if through == "discovery" {
		c.before, c.after = inside(c.before), inside(c.after)
	}
	state, folder := filepath.Join(kerneltest.StateDir(t), "s"), t.TempDir()
	model := kerneltest.NewModel(t, c.before...)
	reached := model.StopAt(c.gated)
	if c.within {
		reached = model.StopWithin(c.gated)
	}
	write(
		t,
		filepath.Join(folder, "callgate.yaml"),
		"agents: [{id: main, brain: "+model.Brain(
			"openai",
			"gpt-4o",
		)+"}]\nruntime: {tool_injection: "+through+"}\ntools: {capabilities: {default_policy: auto}}\n",
	)
	k := kerneltest.Open(t, state, marks(folder))
	kerneltest.OpenAccepted(t, k, folder)
	ok(t, k.Close())
	id := killIt(t, state, folder, c.gated, reached)

	model.Play(c.after...)
	k = kerneltest.Open(t, state, marks(folder))
	talk, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id})
	ok(t, err)
	end, err := talk.Resume(t.Context(), conversation.Watch{Observer: agent.Observer{}, Asked: nil})
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "marks"))
	ok(t, err)
	got := strings.Fields(string(data))
	slices.Sort(got)
	// A call that had begun and not run yet is in doubt too: it is not made again.
	if all := strings.Join(got, " "); all != c.marks && (c.gated > 0 || all != "m2") {
		t.Errorf("the marks are %q, want %q, each once", got, c.marks)
	}
	last := model.Last()
	if !strings.Contains(last, c.told) || !json.Valid([]byte(last)) {
		t.Errorf("the model was asked %s", last)
	}
	report, err := k.Journal.Verify(t.Context())
	if err != nil || !report.OK() {
		t.Errorf("the journal: %+v, %v", report, err)
	}
}

// killIt has another process run a turn, and kills it where it stands still.
func killIt(t *testing.T, state, folder string, gated int, reached <-chan struct{}, env ...string) (id string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), doomedVar+"="+state, "CALLGATE_TEST_FOLDER="+folder), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	lines := make(chan string, 8)
	go func() {
		defer close(lines)
		var said [1]byte
		var b strings.Builder
		for {
			if n, err := out.Read(said[:]); n == 0 || err != nil {
				return
			}
			if said[0] == '\n' {
				lines <- b.String()
				b.Reset()
				continue
			}
			b.WriteByte(said[0])
		}
	}()
	id = <-lines
	if gated > 0 {
		<-reached
	} else if said := <-lines; said != "hanging" {
		t.Fatalf("it said %q", said)
	}
	ok(t, cmd.Process.Kill())
	_ = cmd.Wait()
	return id
}
