package adoption_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/session"
	"callgate/internal/programtest"
	"callgate/internal/proposal"
	"callgate/llm"
	"callgate/tool"
)

// doomedVariable makes this program a node that is killed; it says what the node does before.
const doomedVariable = "CALLGATE_TEST_DOOMED"

func TestMain(m *testing.M) { kerneltest.Main(m, map[string]func(string){doomedVariable: playDoomed}) }

var ok = kerneltest.OK

// timing is that of nodes that are soon taken for dead.
var timing = node.Timing{Lease: 2 * time.Second, Every: 200 * time.Millisecond, Away: time.Second}

// doomed is what a node does before it is killed.
type doomed struct {
	State, URL, User, Shared, Folder string
	Calls                            []string // in the conversation: a tool and its arguments
	Say                              string   // then: a message, whose turn never ends
	Asks                             bool     // in that turn the agent asks
	Accepts                          bool     // a human accepts what is proposed, and it cannot be done
}

// said is what a doomed node tells of what it has.
type said struct {
	Node, Conversation, Question string
	Results                      []*tool.Result
}

func playDoomed(value string) {
	var d doomed
	must(json.Unmarshal([]byte(value), &d))
	ctx := context.Background()
	k, err := kernel.Open(ctx, kernel.Config{
		State: d.State, Storage: d.URL, UserFile: d.User, Shared: d.Shared, Node: timing, Tools: marks(d.Folder),
	})
	must(err)
	c, err := k.Conversations.Open(ctx, conversation.Spec{Workspace: d.Folder, KeepRunning: true})
	must(err)
	s, err := k.Sessions.Get(c.ID())
	must(err)
	tell := said{Node: kernel.NodeOf(k).ID, Conversation: c.ID()}
	for _, call := range d.Calls {
		name, args := cut(call)
		tell.Results = append(tell.Results, s.Call(ctx, session.CallRequest{Name: name, Args: args, NoWait: true}))
	}
	say := func() { _, _ = c.Send(ctx, llm.TextMessage(llm.User, d.Say), conversation.Watch{}) }
	if d.Asks {
		go say()
		for r, err := range k.Questions.Watch(ctx) {
			must(err)
			tell.Question = r.ID
			break
		}
	}
	if d.Accepts {
		go accept(ctx, k)
		for len(k.Locks.Snapshot().Waiting) == 0 {
			<-time.After(time.Millisecond)
		}
	}
	line, err := json.Marshal(tell)
	must(err)
	fmt.Println(string(line))
	if d.Say != "" && !d.Asks {
		say()
	}
	programtest.Hang()
}

// accept accepts the only proposal.
func accept(ctx context.Context, k *kernel.Kernel) {
	key, err := k.State().HumanKey()
	must(err)
	list, err := k.Proposals.List(ctx, proposal.Pending)
	must(err)
	shown, err := k.Proposals.Show(ctx, list[0].ID)
	must(err)
	_, err = k.Proposals.Accept(ctx, approval.Credential{Key: key, By: "ada", PID: approval.Unknown}, list[0].ID, shown.Digest, "")
	must(err)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func cut(call string) (name string, args json.RawMessage) {
	for i := range call {
		if call[i] == ' ' {
			return call[:i], json.RawMessage(call[i+1:])
		}
	}
	return call, json.RawMessage(`{}`)
}

// marks are tools that leave a line in a file for each time they run: demo.mark, which then waits for its end if it is
// to hang, and demo.ask, of which a human is asked first.
func marks(folder string) []*tool.Tool {
	type in struct {
		Mark string `json:"mark"`
		Hang bool   `json:"hang,omitempty"`
	}
	var all []*tool.Tool
	for name, ask := range map[string]bool{"demo.mark": false, "demo.ask": true} {
		runtime := tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, AskFirst: ask}
		made, err := tool.Func(name, "Leaves a mark.", runtime, func(ctx context.Context, in in) (any, error) {
			f, err := os.OpenFile(filepath.Join(folder, "marks"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			_, err = fmt.Fprintln(f, in.Mark)
			if closed := f.Close(); err == nil {
				err = closed
			}
			if err == nil && in.Hang {
				<-ctx.Done()
				err = ctx.Err()
			}
			return map[string]string{"marked": in.Mark}, err
		})
		must(err)
		all = append(all, made)
	}
	hold, err := tool.Func("demo.hold", "Holds a file.", tool.Runtime{
		Risk: tool.Low, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{mark}", Mode: tool.X}},
	}, func(ctx context.Context, _ in) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	must(err)
	return append(all, hold)
}
