package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// answerPairs is how many pairs of sessions share the answers: in each, the one makes
// an answer's calls as one batch, and the other one after another.
const answerPairs, answersEach = 8, 125

// A thousand random answers give what their calls give one after another, and leave the
// same behind: with files, memory, something like a shell and something like a
// database, by name and through execute_tool. The calls that depend on nothing go on
// only when the other of them is under way too, so they are side by side.
func TestRandomAnswers(t *testing.T) { kerneltest.OnEachStorage(t, testRandomAnswers) }

func testRandomAnswers(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(os.Getenv("CALLGATE_SEED"), 10, 64) // repeats a run
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	stage := &answerStage{tables: map[string][]string{}, meetings: map[string]chan struct{}{}}
	k := kerneltest.Open(t, kerneltest.StateDir(t), stage.tools(t)...)
	base, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	var calls, met atomic.Int64
	var pairs sync.WaitGroup
	for pair := range answerPairs {
		batch, single := filepath.Join(base, fmt.Sprint("batch", pair)), filepath.Join(base, fmt.Sprint("single", pair))
		for _, folder := range []string{batch, single} {
			write(t, filepath.Join(folder, "callgate.yaml"), freeHand)
		}
		inBatch, inSingle := kerneltest.OpenAccepted(t, k, batch), kerneltest.OpenAccepted(t, k, single)
		pairs.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(pair)))
			for n := range answersEach {
				answer := randomAnswer(random, fmt.Sprintf("%d-%d", pair, n))
				calls.Add(int64(len(answer)))
				for _, c := range answer {
					if strings.Contains(c.Name+string(c.Args), "t.meet") {
						met.Add(1)
					}
				}
				got, want := inBatch.CallAll(t.Context(), answer, nil), oneByOne(t, inSingle, answer)
				for i := range answer {
					if diff := cmp.Diff(told(want[i], single), told(got[i], batch)); diff != "" {
						t.Errorf("seed %d, pair %d, answer %d, call %d of\n%s\n(-one by one, +in one answer)\n%s",
							seed, pair, n, i, listed(answer), diff)
						return
					}
				}
				if diff := cmp.Diff(stage.left(t, single), stage.left(t, batch)); diff != "" {
					t.Errorf("seed %d, pair %d, answer %d of\n%s\nleaves (-one by one, +in one answer)\n%s",
						seed, pair, n, listed(answer), diff)
					return
				}
			}
		})
	}
	pairs.Wait()
	t.Logf("%d answers with %d calls: as one by one; %d of the calls met another that ran beside it",
		answerPairs*answersEach, calls.Load(), met.Load())
}

func oneByOne(t *testing.T, s *session.Session, answer []gate.CallRequest) []*tool.Result {
	results := make([]*tool.Result, len(answer))
	for i, r := range answer {
		results[i] = s.Call(t.Context(), r)
	}
	return results
}

// told is what a model learns from a result, without what differs between two
// sessions. What a failed call suggests looks at things that it does not claim.
func told(r *tool.Result, workspace string) string {
	if r.Error != nil {
		return string(r.Error.Kind)
	}
	var memories struct {
		Results []struct{ Key, Text string }
	}
	if json.Unmarshal(r.Data, &memories) == nil && memories.Results != nil {
		slices.SortFunc(memories.Results, func(a, b struct{ Key, Text string }) int { return strings.Compare(a.Key, b.Key) })
		return fmt.Sprint(memories)
	}
	text := r.Summary
	for _, c := range r.Content {
		text += "\n" + c.Text
	}
	return strings.ReplaceAll(text, workspace, "")
}

func listed(answer []gate.CallRequest) string {
	lines := make([]string, len(answer))
	for i, r := range answer {
		lines[i] = r.Name + " " + string(r.Args)
	}
	return strings.Join(lines, "\n")
}

// randomAnswer makes an answer of two to six calls.
func randomAnswer(random *rand.Rand, name string) []gate.CallRequest {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	file := func() string { return pick("a", "b") + "/" + pick("x", "y") + ".txt" }
	word := func() string { return fmt.Sprint("word", random.IntN(1000)) }
	call := func(name, form string, values ...any) gate.CallRequest {
		return gate.CallRequest{Name: name, Args: json.RawMessage(fmt.Sprintf(form, values...))}
	}
	meets := random.IntN(4) == 0
	count := 2 + random.IntN(5)
	if meets {
		count = max(0, count-2)
	}
	var answer []gate.CallRequest
	for range count {
		var c gate.CallRequest
		switch random.IntN(12) {
		case 0, 1:
			c = call("filesystem.write", `{"path":%q,"content":%q}`, file(), word())
		case 2:
			c = call("filesystem.edit", `{"path":%q,"op":"append","new":%q}`, file(), word())
		case 3, 4, 5:
			c = call("filesystem.read", `{"path":%q}`, file())
		case 6:
			c = call("filesystem.grep", `{"pattern":"word","path":%q}`, pick("a", "b", "."))
		case 7:
			c = call("filesystem.move", `{"from":%q,"to":%q}`, file(), file())
		case 8:
			c = call("t.shell", `{"into":%q}`, file())
		case 9:
			c = call("memory.upsert", `{"key":%q,"content":%q}`, pick("green", "blue"), word())
		case 10:
			c = call("memory.query", `{"query":"word","tiers":["knowledge"]}`)
		case 11:
			if random.IntN(2) == 0 {
				c = call("t.insert", `{"table":%q,"row":%q}`, pick("one", "two"), word())
			} else {
				c = call("t.select", `{"table":%q}`, pick("one", "two"))
			}
		}
		answer = append(answer, c)
	}
	if meets {
		for _, side := range []string{"left", "right"} {
			at := random.IntN(len(answer) + 1)
			answer = slices.Insert(answer, at, call("t.meet", `{"meeting":%q,"side":%q}`, name, side))
		}
	}
	for i, c := range answer {
		if random.IntN(4) == 0 {
			answer[i] = call("execute_tool", `{"name":%q,"params":%s}`, c.Name, c.Args)
		}
	}
	return answer
}

// answerStage is what the test's own tools work on.
type answerStage struct {
	mu       sync.Mutex
	tables   map[string][]string // by workspace and name
	meetings map[string]chan struct{}
}

type answerArgs struct{ Into, Table, Row, Meeting, Side string }

func (s *answerStage) tools(t *testing.T) []*tool.Tool {
	define := func(name string, side tool.SideEffect, e tool.Effect,
		run func(ctx context.Context, in answerArgs, g tool.Grant) (string, error),
	) *tool.Tool {
		id, err := tool.ParseID(strings.Replace(name, ".", ":", 1) + "@1.0.0")
		kerneltest.OK(t, err)
		return &tool.Tool{
			ID: id, Spec: tool.Spec{Name: name, Description: "A tool of the test.", Input: json.RawMessage(`{"type":"object"}`)},
			Runtime: tool.Runtime{Risk: tool.Low, SideEffect: side, Effects: []tool.Effect{e}},
			Handler: tool.HandlerFunc(func(ctx context.Context, c tool.Call, g tool.Grant) (*tool.Result, error) {
				var in answerArgs
				if err := json.Unmarshal(c.Args, &in); err != nil {
					return nil, err
				}
				said, err := run(ctx, in, g)
				if err != nil {
					return nil, err
				}
				return tool.OK(said, nil)
			}),
		}
	}
	return []*tool.Tool{
		// It reads every file and writes one, as a command may.
		define("t.shell", tool.Write, tool.Effect{Resource: "workspace", Mode: tool.U},
			func(_ context.Context, in answerArgs, g tool.Grant) (string, error) {
				all, err := files(g.Workspace)
				if err != nil {
					return "", err
				}
				text := fmt.Sprint(len(all), " files, ", len(fmt.Sprint(all)), " bytes")
				path := filepath.Join(g.Workspace, in.Into)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return "", err
				}
				return text, os.WriteFile(path, []byte(text), 0o644)
			}),
		define("t.insert", tool.Write, tool.Effect{Resource: "db:{table}", Mode: tool.X},
			func(_ context.Context, in answerArgs, g tool.Grant) (string, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				table := g.Workspace + " " + in.Table
				s.tables[table] = append(s.tables[table], in.Row)
				return fmt.Sprint(len(s.tables[table]), " rows"), nil
			}),
		define("t.select", tool.Read, tool.Effect{Resource: "db:{table}", Mode: tool.S},
			func(_ context.Context, in answerArgs, g tool.Grant) (string, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return fmt.Sprint(s.tables[g.Workspace+" "+in.Table]), nil
			}),
		define("t.meet", tool.Write, tool.Effect{Resource: "side:{side}/{meeting}", Mode: tool.X}, s.meet),
	}
}

// meet ends when its other side runs too. One after another, nobody is met.
func (s *answerStage) meet(ctx context.Context, in answerArgs, g tool.Grant) (string, error) {
	if strings.HasPrefix(filepath.Base(g.Workspace), "single") {
		return "met", nil
	}
	s.mu.Lock()
	other, first := s.meetings[in.Meeting], false
	if other == nil {
		other, first = make(chan struct{}), true
		s.meetings[in.Meeting] = other
	}
	s.mu.Unlock()
	if !first {
		close(other)
		return "met", nil
	}
	select {
	case <-other:
		return "met", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// left is what the answers of a workspace left behind.
func (s *answerStage) left(t *testing.T, workspace string) map[string]string {
	all, err := files(workspace)
	if err != nil {
		t.Error(err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, table := range []string{"one", "two"} {
		all["table "+table] = fmt.Sprint(s.tables[workspace+" "+table])
	}
	return all
}

// files reads every file of a folder.
func files(folder string) (map[string]string, error) {
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, path))
		all[path] = string(data)
		return err
	})
	return all, err
}
