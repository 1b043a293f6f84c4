//go:build unix

package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/daemon"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// openAccepted opens a session whose app a human has accepted.
func openAccepted(ctx context.Context, k *kernel.Kernel, workspace string) (*session.Session, error) {
	for {
		s, err := k.OpenSession(ctx, session.Spec{Workspace: workspace})
		if err != nil {
			return nil, err
		}
		shown := k.PendingConsent(s)
		if shown == "" {
			return s, nil
		}
		key, err := k.State().HumanKey()
		if err != nil {
			return nil, err
		}
		if err := k.AcceptApp(approval.Credential{Key: key, PID: approval.Unknown}, s, shown, "ada"); err != nil {
			return nil, err
		}
		s.Close()
	}
}

// churn makes calls without end, and prints each that was answered.
func churn(ctx context.Context, state, workspace string) {
	d, err := daemon.Start(ctx, kernel.Config{State: state})
	if err != nil {
		say(err)
		os.Exit(1)
	}
	s, err := openAccepted(ctx, d.Kernel, workspace)
	if err != nil {
		say(err)
		os.Exit(1)
	}
	say("ready")
	var out sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				name, args := randomCall()
				r := s.Call(ctx, session.CallRequest{Name: name, Args: json.RawMessage(args)})
				out.Lock()
				say(answered{r.Call, r.Status, name, r.Summary})
				out.Unlock()
			}
		})
	}
	wg.Wait()
}

type answered struct {
	Call    string
	Status  tool.Status
	Name    string
	Summary string
}

// straggler is a length of sleep that marks the processes of these tests.
const straggler = "7713.25"

// randomCall reads, replaces or edits one of a few files, or runs a command. A whole
// file begins and ends with the same mark, with enough between to be torn.
func randomCall() (name, args string) {
	path := fmt.Sprintf("file%d.txt", rand.IntN(3))
	n := rand.IntN(1_000_000)
	switch rand.IntN(6) {
	case 4: // a process that would outlive the kernel if it could
		command := fmt.Sprintf("sleep %s & (setsid sleep %s &) ; echo started", straggler, straggler)
		return "shell.bash", fmt.Sprintf(`{"command":%q,"reads_only":true}`, command)
	case 0:
		return "filesystem.read", fmt.Sprintf(`{"path":%q,"head":1}`, path)
	case 1: // replaces the line in the middle
		const edit = `{"path":%q,"op":"replace_lines","line":2,"end_line":2,"new":"edited %d\\n"}`
		return "filesystem.edit", fmt.Sprintf(edit, path, n)
	default:
		content := fmt.Sprintf("mark %d\nmiddle\n%smark %d\n", n, strings.Repeat("x", 40_000)+"\n", n)
		return "filesystem.write", fmt.Sprintf(`{"path":%q,"content":%q}`, path, content)
	}
}

// TestKilledAtAnyMoment kills a busy kernel at random moments. After each:
// nothing that was answered is missing from the journal, the chain verifies,
// every call that began and did not end is in doubt exactly once, no file is
// half written, and no process is left behind. CALLGATE_KILLS sets how often; the
// soak run uses 1,000.
func TestKilledAtAnyMoment(t *testing.T) {
	kills := 12
	if n, err := strconv.Atoi(os.Getenv("CALLGATE_KILLS")); err == nil {
		kills = n
	}
	state, workspace := t.TempDir(), t.TempDir()
	const app = "runtime: {sandbox: relaxed}\ntools:\n  capabilities:\n    default_policy: auto\n"
	ok(t, os.WriteFile(filepath.Join(workspace, "callgate.yaml"), []byte(app), 0o644))
	for i := range 3 {
		path := filepath.Join(workspace, fmt.Sprintf("file%d.txt", i))
		ok(t, os.WriteFile(path, []byte("mark 0\nmiddle\nx\nmark 0\n"), 0o644))
	}
	count := 0
	for range kills {
		for _, a := range killOnce(t, state, workspace) {
			count++
			if a.Status != tool.Success {
				t.Fatalf("%s: %s", a.Name, a.Summary)
			}
		}
		wholeFiles(t, workspace)
		noUnfinished(t, workspace)
		noStragglers(t)
	}
	k, err := kernel.Open(t.Context(), kernel.Config{State: state})
	ok(t, err)
	defer func() { ok(t, k.Close()) }()
	doubts := onceInDoubt(t, k)
	t.Logf("%d kills, %d answers, %d calls in doubt", kills, count, doubts)
	if count == 0 {
		t.Error("no call was ever answered: the kills come too early to show anything")
	}
}

// killOnce runs a busy kernel, kills it, and checks the journal against what
// was answered, which it returns.
func killOnce(t *testing.T, state, workspace string) []answered {
	t.Helper()
	p := start(t, "churn", map[string]string{"State": state, "Workspace": workspace})
	must(t, p.heard(t), "ready")
	time.AfterFunc(time.Duration(rand.IntN(250_000))*time.Microsecond, func() { _ = p.Process.Kill() })
	var list []answered
	for dec := json.NewDecoder(p.out); ; {
		var a answered
		if err := dec.Decode(&a); err != nil { // killed, perhaps in the middle of a line
			if err != io.EOF && err != io.ErrUnexpectedEOF {
				t.Fatal(err)
			}
			break
		}
		list = append(list, a)
	}
	p.end()

	k, err := kernel.Open(t.Context(), kernel.Config{State: state})
	ok(t, err)
	defer func() { ok(t, k.Close()) }()
	for _, a := range list {
		if a.Name == "filesystem.read" {
			continue // a read is recorded after its answer, and may be lost with the process
		}
		ended, err := k.Journal.Read(t.Context(), journal.Query{Call: a.Call, Kind: journal.Ended})
		ok(t, err)
		if len(ended) != 1 {
			t.Errorf("%s (%s) was answered and has %d ends on record", a.Call, a.Name, len(ended))
		}
	}
	report, err := k.Journal.Verify(t.Context())
	ok(t, err)
	if !report.OK() {
		t.Fatalf("the journal does not verify: %+v", report)
	}
	return list
}

// onceInDoubt counts the doubts, and sees that each belongs to one call that
// began and did not end.
func onceInDoubt(t *testing.T, k *kernel.Kernel) int {
	t.Helper()
	count := map[journal.Kind]map[string]int{journal.Begun: {}, journal.Ended: {}, journal.Doubted: {}}
	for after := uint64(0); ; {
		page, err := k.Journal.Read(t.Context(), journal.Query{After: after, Limit: 5000})
		ok(t, err)
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			if count[r.Kind] != nil {
				count[r.Kind][r.Call]++
			}
			after = r.Seq
		}
	}
	for call, n := range count[journal.Begun] {
		if n != 1 || count[journal.Ended][call]+count[journal.Doubted][call] != 1 {
			t.Errorf("%s: begun %d, ended %d, doubted %d", call, n, count[journal.Ended][call], count[journal.Doubted][call])
		}
	}
	for call := range count[journal.Doubted] {
		if count[journal.Begun][call] != 1 {
			t.Errorf("%s is in doubt and never began", call)
		}
	}
	return len(count[journal.Doubted])
}

// noStragglers waits until the processes that the kernel had started are gone:
// they end with the kernel, a moment later.
func noStragglers(t *testing.T) {
	t.Helper()
	eventually(t, "the end of what the kernel had started", func() bool {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return !slices.ContainsFunc(lines, func(name string) bool {
			data, err := os.ReadFile(name)
			return err == nil && strings.HasPrefix(string(data), "sleep") && strings.Contains(string(data), straggler)
		})
	})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("this never came: " + what)
		}
	}
}

// noUnfinished sees that the next start removed what the killed kernel had not finished.
func noUnfinished(t *testing.T, workspace string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(workspace, ".callgate-*")); len(left) > 0 {
		t.Errorf("left in the workspace: %q", left)
	}
}

var whole = regexp.MustCompile(`^mark (\d+)\n[^\n]*\nx+\nmark (\d+)\n$`)

func wholeFiles(t *testing.T, workspace string) {
	t.Helper()
	for i := range 3 {
		data, err := os.ReadFile(filepath.Join(workspace, fmt.Sprintf("file%d.txt", i)))
		ok(t, err)
		m := whole.FindSubmatch(data)
		if m == nil || string(m[1]) != string(m[2]) {
			t.Fatalf("file%d.txt is torn: %d bytes, %.40q … %.40q", i, len(data), data, data[max(0, len(data)-40):])
		}
	}
}
