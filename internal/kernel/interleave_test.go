package kernel_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

const freeHand = "tools:\n  capabilities:\n    default_policy: auto\n"

// agents runs f for each of n sessions of their own, at the same time.
func agents(t *testing.T, k *kernel.Kernel, workspace string, n int, f func(agent int, s *session.Session)) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		s := kerneltest.OpenAccepted(t, k, workspace)
		wg.Go(func() { f(i, s) })
	}
	wg.Wait()
}

// soak is how many times as long the soak run goes.
func soak() int {
	if n, err := strconv.Atoi(os.Getenv("CALLGATE_SOAK")); err == nil {
		return n
	}
	return 1
}

func TestParallelEditsLoseNothing(t *testing.T) {
	kerneltest.OnEachStorage(t, testParallelEditsLoseNothing)
}

func testParallelEditsLoseNothing(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for _, name := range []string{"a.txt", "b.txt"} {
		write(t, filepath.Join(workspace, name), "top\n")
	}
	const agentCount, files = 16, 2
	each := 25 * soak()
	agents(t, k, workspace, agentCount, func(agent int, s *session.Session) {
		for i := range each {
			path := []string{"a.txt", "b.txt"}[i%files]
			args := fmt.Sprintf(`{"path":%q,"op":"insert","line":2,"new":"agent %d edit %d\n"}`, path, agent, i)
			if i%4 == 3 {
				args = fmt.Sprintf(`{"path":%q,"op":"append","new":"agent %d edit %d\n"}`, path, agent, i)
			}
			if r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.edit", Args: json.RawMessage(args)}); r.Status != tool.Success {
				t.Errorf("%s: %s", args, r.Summary)
			}
		}
	})
	seen := map[string]int{}
	for _, name := range []string{"a.txt", "b.txt"} {
		data, err := os.ReadFile(filepath.Join(workspace, name))
		ok(t, err)
		for line := range strings.Lines(string(data)) {
			seen[line]++
		}
	}
	delete(seen, "top\n")
	if len(seen) != agentCount*each {
		t.Errorf("%d of %d edits are there", len(seen), agentCount*each)
	}
}

// TestInterleavingIsSomeSerialOrder lets 16 agents change the same files as
// they like, and then makes the same calls one after another, in the order
// that the journal names. Both leave the same files, and every call ends the
// same way.
func TestInterleavingIsSomeSerialOrder(t *testing.T) {
	t.Parallel()
	for round := range 2 * soak() {
		state, workspace, again := kerneltest.StateDir(t), t.TempDir(), t.TempDir()
		for _, folder := range []string{workspace, again} {
			write(t, filepath.Join(folder, "callgate.yaml"), freeHand)
			write(t, filepath.Join(folder, "f0"), "one\ntwo\nthree\n")
		}
		k := kerneltest.Open(t, state)
		agents(t, k, workspace, 16, func(agent int, s *session.Session) {
			r := rand.New(rand.NewPCG(uint64(round), uint64(agent)))
			for i := range 12 {
				name, args := randomChange(r, fmt.Sprintf("agent %d step %d", agent, i))
				s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args)})
			}
		})
		begun := serialOrder(t, k)
		ok(t, k.Close())

		k = kerneltest.Open(t, kerneltest.StateDir(t))
		s := kerneltest.OpenAccepted(t, k, again)
		for _, c := range begun {
			if r := s.Call(t.Context(), session.CallRequest{Name: c.tool, Args: c.args}); r.Status != c.status {
				t.Errorf("%s %s ended %s among others, and %s alone: %s", c.tool, c.args, c.status, r.Status, r.Summary)
			}
		}
		ok(t, k.Close())
		if diff := cmp.Diff(tree(t, workspace), tree(t, again)); diff != "" {
			t.Fatalf("round %d: together and one after another differ:\n%s", round, diff)
		}
	}
}

// randomChange is one call on a handful of files, some of which it takes away.
func randomChange(r *rand.Rand, mark string) (name, args string) {
	file := func() string { return fmt.Sprintf("f%d", r.IntN(4)) }
	switch r.IntN(7) {
	case 0:
		return "filesystem.write", fmt.Sprintf(`{"path":%q,"content":"%s\nnew\n"}`, file(), mark)
	case 1:
		return "filesystem.write", fmt.Sprintf(`{"path":%q,"content":"%s\n","mode":"append"}`, file(), mark)
	case 2:
		return "filesystem.move", fmt.Sprintf(`{"from":%q,"to":%q,"overwrite":true}`, file(), file())
	case 3:
		return "filesystem.delete", fmt.Sprintf(`{"path":%q}`, file())
	case 4:
		return "filesystem.edit", fmt.Sprintf(`{"path":%q,"op":"replace_lines","line":1,"end_line":1,"new":"%s\n"}`, file(), mark)
	default:
		return "filesystem.edit", fmt.Sprintf(`{"path":%q,"op":"insert","line":1,"new":"%s\n"}`, file(), mark)
	}
}

type serialCall struct {
	tool   string
	args   json.RawMessage
	status tool.Status
}

// serialOrder reads the calls in the order in which they began.
func serialOrder(t *testing.T, k *kernel.Kernel) []serialCall {
	t.Helper()
	ok(t, k.Journal.Flush(t.Context()))
	records, err := k.Journal.Read(t.Context(), journal.Query{Limit: 10_000})
	ok(t, err)
	calls := map[string]*serialCall{}
	var order []*serialCall
	for _, r := range records {
		switch r.Kind {
		case journal.Asked:
			calls[r.Call] = &serialCall{tool: r.Tool, args: r.Ask.Args}
		case journal.Begun:
			order = append(order, calls[r.Call])
		case journal.Ended:
			calls[r.Call].status = r.End.Status
		}
	}
	out := make([]serialCall, len(order))
	for i, c := range order {
		out[i] = *c
	}
	return out
}

// tree is every file of a folder with its content.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	ok(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(folder, path)
		files[rel] = string(data)
		return err
	}))
	return files
}
