package recovery_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/programtest"
	"callgate/tool"
)

// churnVariable asks the test program to be a busy kernel; it says where.
const churnVariable = "CALLGATE_TEST_CHURN"

type churnPart struct{ State, Workspace, User string }

// versions makes the tool team.put: it puts a version into a file, and says that
// twice is once. Each run leaves a line in the file runs.
func versions(workspace string) *tool.Tool {
	made, err := tool.Func("team.put", "Puts a version into a file.",
		tool.Runtime{
			Risk: tool.Low, SideEffect: tool.Write, Idempotent: true,
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
		},
		func(ctx context.Context, in struct {
			Path    string `json:"path"`
			Version int    `json:"version"`
			Mark    string `json:"mark"` // one for each call that is asked for
		}) (string, error) {
			runs, err := os.OpenFile(filepath.Join(workspace, "runs"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			_, err = fmt.Fprintf(runs, "%s %d %s\n", in.Path, in.Version, in.Mark)
			_ = runs.Close()
			select { // a moment in which it can be cut off
			case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
			if err != nil {
				return "", err
			}
			path := filepath.Join(workspace, in.Path)
			if err := os.WriteFile(path+".tmp", fmt.Append(nil, in.Version), 0o600); err != nil {
				return "", err
			}
			return "put", os.Rename(path+".tmp", path)
		})
	if err != nil {
		panic(err)
	}
	return made
}

// churn is a busy kernel: it puts versions into files without end, each file by one
// caller, and prints what was acknowledged.
func churn(value string) {
	var part churnPart
	if err := json.Unmarshal([]byte(value), &part); err != nil {
		panic(err)
	}
	k, err := kernel.Open(context.Background(), kernel.Config{
		State: part.State, UserFile: part.User, Tools: []*tool.Tool{versions(part.Workspace)},
	})
	if err != nil {
		panic(err)
	}
	var out sync.Mutex
	for n := range 4 {
		go func() {
			s, err := k.OpenSession(context.Background(), session.Spec{Workspace: part.Workspace})
			if err != nil {
				panic(err)
			}
			path := fmt.Sprintf("file%d", n)
			for version := versionIn(part.Workspace, path) + 1; ; version++ {
				args := fmt.Sprintf(`{"path":%q,"version":%d,"mark":"%x"}`, path, version, rand.Uint64())
				r := s.Call(context.Background(), session.CallRequest{Name: "team.put", Args: json.RawMessage(args)})
				if r.Status == tool.Success {
					out.Lock()
					fmt.Println(path, version)
					out.Unlock()
				}
			}
		}()
	}
	programtest.Hang()
}

func versionIn(workspace, path string) (version int) {
	data, _ := os.ReadFile(filepath.Join(workspace, path))
	_, _ = fmt.Sscan(string(data), &version)
	return version
}

// TestKilledKernelsNeverPutOldOverNew kills a kernel under calls that say that twice
// is once, at any moment, with a person who edits some of the files meanwhile. No
// acknowledged version is lost, no edit is overwritten by a retry, no call runs more
// than twice, and each is in doubt once at most.
func TestKilledKernelsNeverPutOldOverNew(t *testing.T) {
	t.Parallel()
	const kills = 12
	state, workspace := kerneltest.StateDir(t), t.TempDir()
	user := filepath.Join(t.TempDir(), "none.yaml")
	part, err := json.Marshal(churnPart{state, workspace, user})
	ok(t, err)
	acknowledged := map[string]int{}
	total, again, looked := 0, 0, 0
	for range kills {
		total += killedChurn(t, string(part), acknowledged)
		for n := range 4 {
			if rand.IntN(3) == 0 { // a person, while no kernel runs
				path := fmt.Sprintf("file%d", n)
				acknowledged[path] = versionIn(workspace, path) + 1
				write(t, filepath.Join(workspace, path), fmt.Sprint(acknowledged[path]))
			}
		}
		k := kerneltest.OpenWith(t, kernel.Config{State: state, UserFile: user, Tools: []*tool.Tool{versions(workspace)}})
		kerneltest.Eventually(t, func() bool {
			undecided, err := k.Journal.OpenDoubts(t.Context(), doubt.Query{State: doubt.New})
			return err == nil && len(undecided) == 0
		})
		for path, version := range acknowledged {
			if got := versionIn(workspace, path); got < version {
				t.Fatalf("%s holds version %d after %d", path, got, version)
			}
		}
		again = len(records(t, k, journal.Resolved)) - looked
		open, err := k.Journal.Doubts(t.Context())
		ok(t, err)
		for _, d := range open { // a human looks: an open doubt would keep the next on its file from a retry
			looked++
			ok(t, k.Journal.Resolve(t.Context(), d.Call, doubt.Resolution{By: "ada"}))
		}
		ok(t, k.Close())
	}
	runs := map[string]int{}
	for line := range strings.Lines(read(t, filepath.Join(workspace, "runs"))) {
		if runs[line]++; runs[line] > 2 {
			t.Errorf("%s ran %d times", strings.TrimSpace(line), runs[line])
		}
	}
	k := kerneltest.OpenWith(t, kernel.Config{State: state, UserFile: user})
	seen := map[string]bool{}
	for _, d := range records(t, k, journal.Doubted) {
		if seen[d.Call] || strings.HasSuffix(d.Call, ".again") {
			t.Errorf("%s is in doubt twice, or a retry is", d.Call)
		}
		seen[d.Call] = true
	}
	t.Logf("%d kills, %d acknowledged, %d in doubt, %d made again", kills, total, len(seen), again)
}

// killedChurn runs a busy kernel, kills it at some moment, and takes up what was
// acknowledged.
func killedChurn(t *testing.T, part string, acknowledged map[string]int) (n int) {
	t.Helper()
	exe, err := os.Executable()
	ok(t, err)
	child := exec.Command(exe)
	child.Env = append(os.Environ(), churnVariable+"="+part, "CALLGATE_KEYRING=off")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	ok(t, err)
	ok(t, child.Start())
	defer func() { _ = child.Wait() }()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var path string
		var version int
		if _, err := fmt.Sscan(lines.Text(), &path, &version); err == nil {
			acknowledged[path] = max(acknowledged[path], version)
		}
		if n++; n == 1 {
			time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { _ = child.Process.Kill() })
		}
	}
	return n
}
