// Package bench measures an agent at work: a suite of tasks that a real program does
// in workspaces of their own, with scripted models over the providers' APIs, with the
// offline brain, or with a real model.
//
// # Laws
//
//   - The program is started as a user starts it (run --json -p), in a state directory
//     and a home of its own. So an earlier release is measured with the same suite.
//   - What counts is what is there at the end: the files, a command that ends well,
//     the last words.
//   - A call is wasted if it tells the model nothing that it can use: it failed, it asks
//     again for what was known, or its result sent the model nowhere.
package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/agent/bench/scripted"
	"callgate/internal/launch"
	"callgate/tool"
)

// Way is a form of the wire and a kind of model.
type Way struct {
	Form  string // anthropic, openai, text, offline or real
	Model string // a kind of scripted model, or PROVIDER/MODEL of a real one
}

func (w Way) String() string {
	if w.Model == "" {
		return w.Form
	}
	return w.Form + " " + w.Model
}

// Ways are those of the suite: each kind of model over the APIs that its like is
// asked by.
func Ways() []Way {
	return []Way{
		{"anthropic", "careful"}, {"anthropic", "claude"}, {"openai", "careful"}, {"openai", "codex"}, {"openai", "gemini"},
		{"openai", "small"}, {"text", "careful"}, {"text", "small"}, {"offline", ""},
	}
}

// Options say what is run.
type Options struct {
	Binary   string // the program
	Tasks    []Task
	Ways     []Way
	Dir      string // keeps what was done; empty: a temporary folder
	Parallel int    // how many tasks are done at a time; 0: one
	// Only says which tasks are done in which way; nil: all that are for its form.
	Only func(Way, Task) bool
	// Done is told of each task as it ends, if it is not nil.
	Done func(Outcome)
}

// Outcome is how a task ended.
type Outcome struct {
	Task     string  `json:"task"`
	Form     string  `json:"form"`
	Model    string  `json:"model,omitempty"`
	OK       bool    `json:"ok"`
	Why      string  `json:"why,omitempty"` // it is not
	Calls    int     `json:"calls"`
	Wasted   int     `json:"wasted"`
	Sent     int     `json:"tokens_sent"`
	Received int     `json:"tokens_received"`
	Seconds  float64 `json:"seconds"`
}

// job is a task and the way in which it is done.
type job struct {
	way  Way
	task Task
}

func (o *Options) jobs() []job {
	var jobs []job
	for _, w := range o.Ways {
		for _, t := range o.Tasks {
			if t.fits(w.Form) && (o.Only == nil || o.Only(w, t)) {
				jobs = append(jobs, job{w, t})
			}
		}
	}
	return jobs
}

// Run does the tasks in every way, and returns the outcomes in that order.
func Run(ctx context.Context, o Options) ([]Outcome, error) {
	binary, err := filepath.Abs(o.Binary)
	if err != nil {
		return nil, err
	}
	own, err := ownRules(ctx, binary)
	if err != nil {
		return nil, tool.Errorf("bench.Run", tool.Invalid, "%v", err).WithHint("name a callgate program")
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "callgate-bench-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	jobs := o.jobs()
	outcomes, errs := make([]Outcome, len(jobs)), make([]error, len(jobs))
	var running sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, max(1, o.Parallel))
	for i, j := range jobs {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			if errs[i] = ctx.Err(); errs[i] != nil {
				return
			}
			p := place{filepath.Join(dir, strings.NewReplacer(" ", "-", "/", "-").Replace(j.way.String()), j.task.Name)}
			outcomes[i], errs[i] = one(ctx, binary, own, p, j.way, j.task)
			if o.Done != nil && errs[i] == nil {
				mu.Lock()
				defer mu.Unlock()
				o.Done(outcomes[i])
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// one does a task in one way.
func one(ctx context.Context, binary string, own bool, p place, w Way, t Task) (Outcome, error) {
	out := Outcome{Task: t.Name, Form: w.Form, Model: w.Model}
	if err := os.MkdirAll(filepath.Join(p.dir, "home"), 0o700); err != nil {
		return out, err
	}
	if err := os.MkdirAll(p.workspace(), 0o755); err != nil {
		return out, err
	}
	if err := t.write(p.workspace()); err != nil {
		return out, err
	}
	m, err := ask(p, w, t)
	if err != nil {
		return out, err
	}
	defer m.close()
	if err := t.writeApp(p, m.brain, own); err != nil {
		return out, err
	}
	limit := 60 * time.Second
	if t.Seconds > 0 {
		limit = time.Duration(t.Seconds) * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	h := p.run(limited, binary, p.env(m.env...), t.Ask)
	out.Seconds = time.Since(start).Seconds()
	out.Calls, out.Wasted = len(h.calls), m.wasted(h)
	out.Sent, out.Received = m.tokens(h)
	out.Why = t.wrong(ctx, p, h)
	out.OK = out.Why == ""
	return out, ctx.Err()
}

// wrong says what is not as it should be.
func (t *Task) wrong(ctx context.Context, p place, h *heard) string {
	c := t.Check
	if h.problem != "" {
		return h.problem
	}
	if c.Answer != "" && !fitsPattern(c.Answer, h.answer) && (c.Told == "" || !fitsPattern(c.Told, h.told)) {
		return fmt.Sprintf("it answered %q (%s)", tool.TruncateTo(h.answer, 300), strings.TrimSpace(h.told))
	}
	for name, expr := range c.Files {
		text, err := os.ReadFile(filepath.Join(p.workspace(), filepath.FromSlash(name)))
		if err != nil || !fitsPattern(expr, string(text)) {
			return fmt.Sprintf("%s does not fit %s", name, expr)
		}
	}
	for _, name := range c.Absent {
		if _, err := os.Lstat(filepath.Join(p.workspace(), filepath.FromSlash(name))); err == nil {
			return name + " is still there"
		}
	}
	if c.Called != "" {
		fits := false
		for _, call := range h.calls {
			fits = fits || call.reached() && fitsPattern(c.Called, call.name+" "+call.args)
		}
		if !fits {
			return "no call that reached its tool fits " + c.Called
		}
	}
	if c.Run == "" {
		return ""
	}
	check := launch.Foreground(ctx, "sh", "-c", c.Run)
	check.Dir = p.workspace()
	if out, err := check.CombinedOutput(); err != nil {
		return fmt.Sprintf("%s: %v: %s", c.Run, err, tool.TruncateTo(string(out), 300))
	}
	return ""
}

// asked is the model of a task: where it is, and what it says of itself afterwards.
type asked struct {
	brain  Brain
	env    []string
	wasted func(*heard) int
	tokens func(*heard) (sent, received int)
	close  func()
}

// ask makes the model of a task ready.
func ask(p place, w Way, t Task) (*asked, error) {
	switch w.Form {
	case "offline":
		return &asked{brain: Brain{Provider: "offline"}, wasted: wastedBySigns, tokens: usageOf, close: func() {}}, nil
	case "real":
		provider, model, _ := strings.Cut(w.Model, "/")
		return &asked{brain: Brain{Provider: provider, Model: model}, env: os.Environ(), wasted: wastedBySigns,
			tokens: usageOf, close: func() {}}, nil
	}
	habits, ok := scripted.HabitsOf(w.Model)
	if !ok {
		return nil, tool.Errorf("bench.Run", tool.NotFound, "no kind of model is called %q", w.Model).
			WithHint("there are %s", strings.Join(scripted.Kinds(), ", "))
	}
	log, err := os.Create(filepath.Join(p.dir, "wire.txt"))
	if err != nil {
		return nil, err
	}
	m := scripted.NewModel(habits, t.Ask, t.Plan)
	server, err := scripted.Serve(scripted.Form(w.Form), m, p.workspace(), t.Faults, io.Writer(log))
	if err != nil {
		return nil, err
	}
	a := &asked{
		brain:  Brain{Provider: "openai", Model: "gpt-5"},
		env:    []string{"OPENAI_API_KEY=scripted", "CALLGATE_OPENAI_BASE_URL=" + server.URL()},
		wasted: func(*heard) int { return len(m.Wasted()) },
		tokens: func(*heard) (int, int) { return server.Tokens() },
		close:  func() { _ = server.Close(); _ = log.Close() },
	}
	switch scripted.Form(w.Form) {
	case scripted.Anthropic:
		a.brain = Brain{Provider: "anthropic", Model: "claude-sonnet-4-5"}
		a.env = []string{"ANTHROPIC_API_KEY=scripted", "CALLGATE_ANTHROPIC_BASE_URL=" + server.URL()}
	case scripted.Text:
		a.brain.Native = new(bool)
	}
	return a, nil
}

func usageOf(h *heard) (sent, received int) { return h.usage.Input, h.usage.Output }

// wastedBySigns counts the calls that failed, or that repeat an earlier one and its
// result. A command that ended with another code than 0 told what it was run for, and a
// call that only the rules were against had to be tried.
func wastedBySigns(h *heard) int {
	wasted, seen := 0, map[string]bool{}
	for _, c := range h.calls {
		key := c.name + "\n" + c.args + "\n" + c.text
		if seen[key] || !c.reached() && !strings.Contains(c.text, "exit code") {
			wasted++
		}
		seen[key] = true
	}
	return wasted
}
