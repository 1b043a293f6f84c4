package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"callgate/internal/gate/detach"
	"callgate/internal/gate/shellcmd"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// A command in the background has no time limit but one that its call names, takes
// input where it was put there by its call or by background_run, each as a call of its own
// that the rules judge, and takes signals. It
// ends as any other does: with everything that it started.

// settleTime is how long a command that is to run in the background is waited for: one
// that fails at once is told as failed.
const settleTime = 300 * time.Millisecond

var (
	_ detach.Mover          = handler{}
	_ detach.CommandProcess = (*process)(nil)
)

// MoveAfter is after how long a command goes on in the background: see detach.Mover.
func (h handler) MoveAfter(args json.RawMessage, given any) (after time.Duration, asked bool) {
	var in bashArgs
	if json.Unmarshal(args, &in) == nil && in.Background {
		return settleTime, true
	}
	config, ok := given.(*settings)
	if !ok || config == nil {
		config = defaults()
	}
	return time.Duration(float64(config.BackgroundAfter) * float64(time.Second)), false
}

// limit stops a command after the time that its call names. One that names none is
// stopped after the default, while somebody waits for it.
func limit(ctx context.Context, in *bashArgs, b tool.Background) (context.Context, context.CancelFunc) {
	if in.Timeout > 0 || b == nil {
		in.Timeout = cmp.Or(in.Timeout, defaultTimeout)
		return context.WithTimeout(ctx, time.Duration(in.Timeout)*time.Second)
	}
	in.Timeout = defaultTimeout
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(defaultTimeout*time.Second, func() {
		select {
		case <-b.Detached():
		default:
			cancel(tool.Errorf(op, tool.Timeout, "the command did not end within %ds", defaultTimeout))
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// attach offers the command to whoever its call belongs to, once it runs. One that runs
// in the background from the beginning has an input that is open until it is closed; any
// other has the text of its call as its input, or none.
func attach(s *sandbox.Spec, in bashArgs, b tool.Background) (end func(), err error) {
	stays := b != nil && (in.Background || isDetached(b))
	if !stays && in.Stdin != "" {
		s.Stdin = strings.NewReader(in.Stdin)
	}
	if b == nil {
		return func() {}, nil
	}
	p := &process{command: in.Command, unfinished: shellcmd.Unfinished(in.Stdin)}
	var theirs *os.File
	if stays {
		if theirs, p.input, err = os.Pipe(); err != nil {
			return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "no pipe could be made for the command", Err: err}
		}
		s.Stdin = theirs
		p.feed(in.Stdin, in.EOF)
	}
	s.Started = func(r sandbox.Running) {
		p.signal = r.Signal
		b.Attach(p)
	}
	return func() {
		b.Attach(nil)
		if theirs != nil {
			_ = theirs.Close()
		}
		_ = p.close()
		p.fed.Wait()
	}, nil
}

// input gives a command that runs in the background the text of a call.
func (h handler) input(ctx context.Context, call tool.Call, in bashArgs) (*tool.Result, error) {
	switch {
	case h.Process == nil:
		return nil, tool.Errorf(op, tool.Unavailable, "no command takes input here")
	case in.Stdin != "":
		return nil, tool.Errorf(op, tool.Invalid, "with input_for the command is the input: there is no stdin_text beside it")
	}
	p, err := h.Process(ctx, call, in.InputFor)
	if err != nil {
		return nil, err
	}
	own, ok := p.(*process)
	if !ok {
		return nil, tool.Errorf(op, tool.Invalid, "the task %s is no command of the shell", in.InputFor)
	}
	if err := own.inputAsJudged(in); err != nil {
		return nil, err
	}
	return tool.OK(fmt.Sprintf("%d bytes of input for the task %s", len(in.Command), in.InputFor),
		map[string]any{"task_id": in.InputFor})
}

// process is a command that runs.
type process struct {
	command string // as its call said
	signal  func(name string) error

	mu         sync.Mutex
	input      *os.File // nil: it has none
	unfinished string   // what it was given and is no whole command yet

	first chan struct{} // closed when the text of the call is written; nil: it has none
	fed   sync.WaitGroup
}

// feed writes the text of the call, however slowly the command reads it. What comes later
// is written behind it.
func (p *process) feed(text string, end bool) {
	if text == "" && !end {
		return
	}
	p.first = make(chan struct{})
	input := p.input
	p.fed.Go(func() {
		defer close(p.first)
		_, _ = io.WriteString(input, text) // a command need not read its input
		if end {
			_ = p.close()
		}
	})
}

// awaitFirst waits until the text of the call is written.
func (p *process) awaitFirst() error {
	if p.first == nil {
		return nil
	}
	timer := time.NewTimer(inputTime)
	defer timer.Stop()
	select {
	case <-p.first:
		return nil
	case <-timer.C:
		return tool.Errorf(op, tool.Timeout, "the command has not read the input yet that it began with").
			WithHint("see in its output what it does")
	}
}

// inputTime is how long a command may take to read what it is given.
const inputTime = 5 * time.Second

// Input writes to the command's standard input.
func (p *process) Input(data []byte, end bool) error {
	if err := p.awaitFirst(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.write(data, end)
}

// inputAsJudged writes the text of a call if it comes behind what the rules, and a human,
// saw it behind: others may have written meanwhile.
func (p *process) inputAsJudged(in bashArgs) error {
	if err := p.awaitFirst(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.TaskCommand != p.command || in.Unfinished != p.unfinished {
		return tool.Errorf(op, tool.Conflict, "nothing was written: the text was judged behind other input than the task "+
			"has now").WithHint("write it again, with task_id and stdin_text; write whole lines")
	}
	return p.write([]byte(in.Command), in.EOF)
}

// CommandLine is the command, and Unfinished what it was given and is no whole command yet:
// see detach.CommandProcess.
func (p *process) CommandLine() string { return p.command }

// Unfinished is described at CommandLine.
func (p *process) Unfinished() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unfinished
}

// write writes to the input. It is called with p.mu.
func (p *process) write(data []byte, end bool) error {
	if p.input == nil {
		return tool.Errorf(op, tool.Conflict, "the command takes no input: it was closed, or the command did not begin "+
			"in the background").WithHint("start it with background_run, or with run_in_background")
	}
	_ = p.input.SetWriteDeadline(time.Now().Add(inputTime)) // a pipe has deadlines
	n, err := p.input.Write(data)
	p.unfinished = shellcmd.Unfinished(p.unfinished + string(data[:n]))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tool.Errorf(op, tool.Timeout, "the command does not read its input: it took %d of %d bytes", n, len(data)).
			WithHint("see in its output what it does")
	case err != nil:
		return tool.Errorf(op, tool.Failed, "the input cannot be written: %w", err)
	}
	if end {
		err, p.input = p.input.Close(), nil
	}
	return err
}

// Signal sends a signal to the command and what it started.
func (p *process) Signal(name string) error { return p.signal(name) }

func (p *process) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.input == nil {
		return nil
	}
	err := p.input.Close()
	p.input = nil
	return err
}
