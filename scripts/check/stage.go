package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A stage is one line of the closing table: a few commands, one after the other.
type stage struct {
	name string
	// beside has the stage start together with the stage before it. Such stages
	// mostly wait for other programs, or share what was compiled.
	beside bool
	run    func(ctx context.Context, s *session) error
}

// result is how a stage ended.
type result struct {
	name   string
	err    error
	wall   time.Duration
	cpu    time.Duration // of its child processes
	counts counts
	skips  []skip
	times  []took
}

// runStages runs the stages in order, those beside each other together. A stage
// that fails does not stop the others, except that nothing runs without a build.
func runStages(ctx context.Context, r *run, all []stage) []result {
	results := make([]result, len(all))
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].beside {
			end++
		}
		var group sync.WaitGroup
		for n := i; n < end; n++ {
			group.Go(func() { results[n] = r.runStage(ctx, all[n], end-i > 1) })
		}
		group.Wait()
		if ctx.Err() != nil || all[i].name == buildStage && results[i].err != nil {
			return results[:end]
		}
		i = end
	}
	return results
}

// runStage runs one stage. Beside others its output is kept back until it ends,
// so that lines of two stages do not mix.
func (r *run) runStage(ctx context.Context, st stage, together bool) (res result) {
	res.name = st.name
	log, err := os.Create(filepath.Join(logs, st.name+".log"))
	if err != nil {
		res.err = err
		return res
	}
	defer log.Close()
	r.say("== %s\n", st.name)
	var kept bytes.Buffer
	s := &session{run: r, result: &res, out: io.MultiWriter(log, r)}
	if together {
		s.out = io.MultiWriter(log, &kept)
	}
	began := time.Now()
	res.err = st.run(ctx, s)
	res.wall = time.Since(began)
	how := "ok"
	if res.err != nil {
		how = "FAILED: " + res.err.Error()
	}
	r.say("%s== %s: %s, %s\n", kept.Bytes(), st.name, how, seconds(res.wall))
	return res
}

// session is one run of a stage.
type session struct {
	run    *run
	result *result
	out    io.Writer
}

// command runs a program and shows its output. CGO is off unless env says otherwise.
func (s *session) command(ctx context.Context, env []string, name string, args ...string) error {
	return s.start(ctx, env, s.out, name, args...)
}

// start runs a program with its own process group, which ends with the run.
func (s *session) start(ctx context.Context, env []string, out io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.Concat(os.Environ(), s.run.env, env)
	cmd.Stdout, cmd.Stderr = out, s.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	err := cmd.Run()
	if cmd.ProcessState != nil {
		s.result.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args[:min(2, len(args))], " "), err)
	}
	return err
}

func (s *session) script(ctx context.Context, name string, args ...string) error {
	return s.command(ctx, nil, "bash", append([]string{"scripts/" + name}, args...)...)
}

func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}
