package scripts

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/feed"
	"callgate/internal/script"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// Step is one call of a script that runs, as people follow it: that it was made, or how it
// ended.
type Step struct {
	Script string // the call of the script
	Call   string // its own ID
	Number int    // in the program's order, from 1
	Line   int    // of the program
	Name   string // of the tool, as the program calls it
	Args   string // in short
	Status tool.Status
	// Summary says how it ended, in one line.
	Summary string
	Took    time.Duration // how long the tool ran
}

// Running is the status of a step that has not ended.
const Running tool.Status = ""

// How many characters of arguments and of a summary a step has.
const (
	maxArgs    = 300
	maxSummary = 300
)

// steps are the calls of the scripts that run. The zero value works.
type steps struct {
	mu        sync.Mutex
	running   map[string]*followed // by the script's call
	followers map[*feed.Feed[Step]]string
}

// followed is a script that runs.
type followed struct {
	session string
	steps   []Step
}

// begin says that a script runs, until end is called.
func (s *steps) begin(session, call string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[string]*followed{}
	}
	s.running[call] = &followed{session: session}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, call)
	}
}

// tell keeps how far a call is, and passes it on.
func (s *steps) tell(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.running[step.Script]
	if of == nil {
		return
	}
	if i := slices.IndexFunc(of.steps, func(o Step) bool { return o.Call == step.Call }); i >= 0 {
		of.steps[i] = step
	} else {
		of.steps = append(of.steps, step)
	}
	for f, session := range s.followers {
		if session == of.session {
			f.Push(step)
		}
	}
}

// succeeded says how many calls of a script were made and succeeded.
func (s *steps) succeeded(call string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if of := s.running[call]; of != nil {
		for _, step := range of.steps {
			if step.Status == tool.Success {
				n++
			}
		}
	}
	switch n {
	case 0:
		return "no call was made"
	case 1:
		return "1 call was made"
	}
	return fmt.Sprintf("%d calls were made", n)
}

// follow returns a feed of the calls of a session's scripts: those of the scripts that run,
// as they are now, and then each as it changes.
func (s *steps) follow(session string) (f *feed.Feed[Step], leave func()) {
	f = feed.New[Step]()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.running {
		if of.session == session {
			for _, step := range of.steps {
				f.Push(step)
			}
		}
	}
	if s.followers == nil {
		s.followers = map[*feed.Feed[Step]]string{}
	}
	s.followers[f] = session
	return f, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.followers, f)
	}
}

// Follow yields the calls of the scripts that run in a session, and each change of one,
// until stop is called, and then what was left. Nothing is missed that happens after Follow
// returns.
func (r *Runner) Follow(session string) (all iter.Seq[Step], stop func()) {
	f, leave := r.steps.follow(session)
	return f.All(context.Background()), func() {
		leave()
		f.Close()
	}
}

// began says that a call is made.
func (c *caller) began(id string, one script.Call) {
	c.runner.steps.tell(c.step(id, one))
}

// ended says how a call ended, and has those who watch the run_script itself told of it.
func (c *caller) ended(id string, one script.Call, r *tool.Result) {
	step := c.step(id, one)
	step.Status, step.Took = r.Status, r.Took
	step.Summary = tool.TruncateTo(strings.TrimSpace(r.Summary), maxSummary)
	c.runner.steps.tell(step)
	line := fmt.Sprintf("%d line %d: %s %s\n", one.Number, one.At.Line, one.Name, r.Status)
	c.runner.opt.Output.Publish(c.call.ID, OutputStream, []byte(line))
}

// OutputStream is the stream on which a script says how far it is: a number, and words.
const OutputStream = "script"

func (c *caller) step(id string, one script.Call) Step {
	return Step{
		Script: c.call.ID, Call: id, Number: one.Number, Line: one.At.Line, Name: one.Name,
		Args: arguments.Brief(one.Args, maxArgs),
	}
}
