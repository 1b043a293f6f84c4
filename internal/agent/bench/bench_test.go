package bench_test

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callgate/internal/agent/bench"
)

var (
	update = flag.Bool("update", false, "run the whole suite and record what it comes to")
	whole  = flag.Bool("whole", false, "run the whole suite, not a part of it")
)

const baseline = "testdata/baseline.txt"

// program builds the program; CALLGATE_BIN names another.
func program(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("CALLGATE_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "callgate")
	build := exec.Command("go", "build", "-trimpath", "-o", bin, "../../../cmd/callgate")
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as make builds it, which compiled it before
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// recorded is what a task came to when the numbers were last looked at.
type recorded struct {
	right               bool
	calls, wasted, sent int
}

func key(task, form, model string) string {
	return strings.TrimSuffix(form+"/"+model, "/") + " " + task
}

func readBaseline(t *testing.T) map[string]recorded {
	t.Helper()
	f, err := os.Open(baseline)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]recorded{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var way, task, how string
		var r recorded
		if _, err := fmt.Sscan(lines.Text(), &way, &task, &how, &r.calls, &r.wasted, &r.sent); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		r.right = how == "right"
		all[way+" "+task] = r
	}
	return all
}

func writeBaseline(t *testing.T, outcomes []bench.Outcome) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# way task outcome calls wasted tokens-sent; written by go test ./internal/agent/bench -update\n")
	for _, o := range outcomes {
		how := "right"
		if !o.OK {
			how = "wrong"
		}
		fmt.Fprintf(&b, "%s %s %d %d %d\n", key(o.Task, o.Form, o.Model), how, o.Calls, o.Wasted, o.Sent)
	}
	if err := os.WriteFile(baseline, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// part returns the ways in which the n-th task is done when not all are: two, so that
// every way has tasks of every kind over the suite. Where it is about errors, the model
// that makes most of them does it too.
func part(n int, kind string) []bench.Way {
	ways := bench.Ways()
	some := []bench.Way{ways[n%len(ways)], ways[(n+4)%len(ways)]}
	if kind == "recover" {
		some = append(some, bench.Way{Form: "openai", Model: "small"})
	}
	return some
}

// The suite with the program as it is: no task that ended right before goes wrong, no
// more calls are made or wasted, and no more tokens are sent than a tenth over what was
// recorded. Numbers that are better are worth a new record (-update).
func TestAgentAtWork(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it runs the program some seventy times")
	}
	t.Parallel()
	tasks, err := bench.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	o := bench.Options{Binary: program(t), Tasks: tasks, Ways: bench.Ways(), Parallel: 4}
	if !*update && !*whole {
		o.Only = func(w bench.Way, task bench.Task) bool {
			n := slices.IndexFunc(tasks, func(t bench.Task) bool { return t.Name == task.Name })
			return slices.Contains(part(n, task.Kind), w)
		}
	}
	outcomes, err := bench.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		writeBaseline(t, outcomes)
		return
	}
	compare(t, outcomes, readBaseline(t))
}

func compare(t *testing.T, outcomes []bench.Outcome, before map[string]recorded) {
	t.Helper()
	var sent, sentBefore int
	for _, o := range outcomes {
		k := key(o.Task, o.Form, o.Model)
		b, ok := before[k]
		switch {
		case !ok:
			t.Errorf("%s is not on record: go test ./internal/agent/bench -update", k)
		case b.right && !o.OK:
			t.Errorf("%s went wrong: %s", k, o.Why)
		case b.right && o.Wasted > b.wasted:
			t.Errorf("%s: %d of %d calls were wasted, before %d of %d", k, o.Wasted, o.Calls, b.wasted, b.calls)
		case b.right && o.Calls > b.calls:
			t.Errorf("%s: it took %d calls, before %d", k, o.Calls, b.calls)
		case o.OK && !b.right || o.Wasted < b.wasted && o.OK:
			t.Logf("%s is better than on record: right %v, %d of %d calls wasted", k, o.OK, o.Wasted, o.Calls)
		}
		if b.right && o.OK {
			sent, sentBefore = sent+o.Sent, sentBefore+b.sent
		}
	}
	if float64(sent) > 1.1*float64(sentBefore) {
		t.Errorf("%d tokens were sent for the same tasks, before %d", sent, sentBefore)
	}
}

// Every expression of a task is one, and what it looks for is in its files: a plan
// that could never be followed measures nothing.
func TestTasksAreWhole(t *testing.T) {
	t.Parallel()
	tasks, err := bench.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) < 20 {
		t.Errorf("only %d tasks", len(tasks))
	}
	for _, task := range tasks {
		if task.Ask == "" || task.Kind == "" || len(task.Plan) == 0 {
			t.Errorf("%s has no request, kind or plan", task.Name)
		}
		for _, f := range task.Faults {
			if kinds := []string{"rate_limit", "broken_stream", "max_tokens", "file_changed"}; !slices.Contains(kinds, f.Kind) {
				t.Errorf("%s: no fault is called %q", task.Name, f.Kind)
			}
		}
		exprs := []string{task.Check.Answer, task.Check.Told, task.Check.Called}
		for _, e := range task.Check.Files {
			exprs = append(exprs, e)
		}
		for _, s := range task.Plan {
			exprs = append(exprs, s.Find, s.Is)
			for _, inner := range s.Together {
				exprs = append(exprs, inner.Find, inner.Is)
			}
		}
		for _, e := range exprs {
			if _, err := regexp.Compile(e); err != nil {
				t.Errorf("%s: %v", task.Name, err)
			}
		}
		if c := task.Check; cmp.Or(c.Answer, c.Run, c.Called) == "" && len(c.Files)+len(c.Absent) == 0 {
			t.Errorf("%s checks nothing", task.Name)
		}
	}
}

func TestSelectNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	tasks, err := bench.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	if some, err := bench.Select(tasks, []string{"edit", "long-file"}); err != nil || len(some) < 3 {
		t.Errorf("%d tasks, %v", len(some), err)
	}
	if _, err := bench.Select(tasks, []string{"no-such"}); err == nil || !strings.Contains(err.Error(), "long-file") {
		t.Errorf("it does not say which there are: %v", err)
	}
}
