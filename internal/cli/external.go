package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/statedir"
	"callgate/tool"
)

// externalKernel connects to a kernel that is another process than this one: the one
// that runs, or one started for as long as this command lasts. An answer to an
// approval must come from outside the kernel, so whoever gives one cannot be
// the kernel too.
func (p *program) externalKernel(ctx context.Context) (*kernel, error) {
	dir, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	k := &kernel{dir: dir}
	dial := client.Unix(dir.Socket())
	limit := time.Now().Add(15 * time.Second)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if c, err := dial(ctx); err == nil {
			_ = c.Close()
			break
		}
		k.end, err = p.startKernel(ctx, dir)
		if err == nil {
			break
		}
		// Somebody else holds the directory, and comes up or goes down.
		if tool.KindOf(err) != tool.Conflict || time.Now().After(limit) || ctx.Err() != nil {
			return nil, err
		}
		time.Sleep(pause)
	}
	k.inProcess = func() bool { return k.end != nil }
	if err := k.handshake(ctx, client.Options{Dial: dial}, true); err != nil {
		_ = k.close()
		return nil, err
	}
	return k, nil
}

// startKernel runs this program as a kernel that ends when its standard input
// does: when end is called, or this process dies. It returns once that kernel
// serves.
func (p *program) startKernel(ctx context.Context, dir statedir.Dir) (end func() error, err error) {
	const op = "cli.startKernel"
	self, err := os.Executable()
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "this program cannot find itself to start a kernel", Err: err}
	}
	cmd := exec.Command(self, "up", "--attached", "--json", "--state", dir.String())
	cmd.Args[0] = "callgate"
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "a kernel cannot be started", Err: err}
	}
	end = func() error {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		return cmd.Wait()
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && strings.Contains(first, `"socket"`) {
		return end, nil
	}
	_ = end()
	if cmd.ProcessState.ExitCode() == exitUnavailable {
		return nil, tool.Errorf(op, tool.Conflict, "another process holds %s and does not answer", dir)
	}
	return nil, tool.Errorf(op, tool.Unavailable, "the kernel did not start: %s", strings.TrimSpace(tool.Truncate(first+said.String()))).
		WithHint("see callgate doctor")
}

// withHumanKey does something with a kernel outside of this process, with the
// human's key.
func (p *program) withHumanKey(ctx context.Context, do func(*kernel) error) error {
	k, err := p.externalKernel(ctx)
	if err != nil {
		return err
	}
	return p.finish(k, do(k))
}
