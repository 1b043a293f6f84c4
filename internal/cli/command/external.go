package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/launch"
	"callgate/internal/statedir"
	"callgate/tool"
)

// startTimeout bounds how long a command waits for a state directory that
// another process holds.
const startTimeout = 15 * time.Second

// WithExternal does something with a kernel in another process, with the
// human's key. An answer to an approval must come from outside the kernel, so a
// process that answers cannot be the kernel too.
func (e *Env) WithExternal(ctx context.Context, do func(*Kernel) error) error {
	k, err := e.externalKernel(ctx)
	if err != nil {
		return err
	}
	return e.finish(k, do(k))
}

// externalKernel connects to the kernel that runs, or to one that is started for
// as long as this command lasts.
func (e *Env) externalKernel(ctx context.Context) (*Kernel, error) {
	dir, err := e.StateDir()
	if err != nil {
		return nil, err
	}
	k := &Kernel{dir: dir}
	dial := client.UnixAt(dir.Socket)
	limit := time.Now().Add(startTimeout)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		c, err := dial(ctx)
		if err == nil {
			_ = c.Close()
			break
		}
		if tool.KindOf(err) == tool.Denied {
			return nil, err
		}
		k.end, err = startKernel(dir)
		if err == nil {
			break
		}
		// Another process holds the directory, and is starting or stopping.
		if tool.KindOf(err) != tool.Conflict || time.Now().After(limit) || ctx.Err() != nil {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	k.inProcess = func() bool { return k.end != nil }
	if err := e.handshake(ctx, k, client.Options{Dial: dial}, true); err != nil {
		_ = k.close()
		return nil, err
	}
	return k, nil
}

// startKernel runs this program as a kernel that ends when its standard input
// does: when end is called, or when this process dies. It returns once that
// kernel serves.
func startKernel(dir statedir.Dir) (end func() error, err error) {
	const op = "cli.startKernel"
	self, err := os.Executable()
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: "this program cannot find itself to start a kernel"}
	}
	cmd := launch.Self([]string{self, "up", "--attached", "--json", "--state", dir.String()}, "")
	cmd.Args[0] = "callgate"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
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
	from := bufio.NewReader(out)
	first, err := from.ReadString('\n')
	if err == nil && strings.Contains(first, `"socket"`) {
		return end, nil
	}
	_ = in.Close()
	rest, _ := io.ReadAll(from)
	_ = cmd.Wait()
	return nil, notStarted(dir, first+string(rest), stderr.String())
}

// notStarted is why a kernel did not start, as it says itself. It is a Conflict only
// if another process holds the directory: then it is worth trying again.
func notStarted(dir statedir.Dir, printed, logged string) error {
	const op = "cli.startKernel"
	var said struct {
		Error *tool.Error `json:"error"`
	}
	switch err := json.Unmarshal([]byte(printed), &said); {
	case err != nil || said.Error == nil:
		text := strings.TrimSpace(tool.Truncate(printed + logged))
		return tool.Errorf(op, tool.Unavailable, "the kernel did not start: %s", text).WithHint("see callgate doctor")
	case said.Error.Kind == tool.Conflict:
		return tool.Errorf(op, tool.Conflict, "process %d holds %s and does not answer", dir.Holder(), dir).
			WithHint("callgate down --force ends it")
	}
	return said.Error
}
