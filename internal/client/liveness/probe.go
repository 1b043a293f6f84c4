// Package liveness tells a kernel that works from one that does not answer.
//
// The law: a kernel is asked for a sign of life on a connection of its own, and what a
// person is told names the process and what can be done about it.
package liveness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/tool"
)

// probeTimeout is how long a kernel may take for a sign of life.
const probeTimeout = 2 * time.Second

// Process is where the kernel of a state directory is found. The zero value knows
// of none, and a probe of it says nothing.
type Process struct {
	Socket func() string // the path of its socket, which may change with each kernel
	Holder func() int    // the process that holds the state directory, or 0; nil: not known
}

// NoAnswerError says that a process serves the socket and does not answer.
type NoAnswerError struct {
	PID     int           // 0: the system does not say
	Stopped bool          // it was stopped with a signal, or is held by a debugger
	Alive   time.Duration // it gave signs of life for so long, and not the answer; 0: it gives none
}

func (e *NoAnswerError) Error() string {
	name := "the kernel"
	if e.PID > 0 {
		name = fmt.Sprintf("the kernel (process %d)", e.PID)
	}
	if e.Alive > 0 {
		return fmt.Sprintf("%s lives, and has given no answer for %v", name, e.Alive)
	}
	if e.Stopped {
		return name + " does not answer: it is stopped"
	}
	return name + " does not answer; it may be stopped, or the machine has no time for it"
}

// Fix says what a person can do.
func (e *NoAnswerError) Fix() string {
	switch {
	case e.Alive > 0:
		return "try again; its log may say more; callgate down --force ends it"
	case e.PID > 0 && e.Stopped:
		return fmt.Sprintf("kill -CONT %d lets it go on; callgate down --force ends it", e.PID)
	case e.PID > 0:
		return fmt.Sprintf("wait, or end it: callgate down --force, or kill %d", e.PID)
	default:
		return "wait, or end it with callgate down --force"
	}
}

// Probe asks the kernel for a sign of life, on a connection of its own, so that it
// may be asked while another request waits. It returns nil when the kernel answers,
// and when no process serves the socket: whoever waits for such a kernel learns that
// from his own connection. Otherwise the error is Unavailable and names the process;
// it wraps a NoAnswerError.
func (p Process) Probe(ctx context.Context) error {
	if p.Socket == nil {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	pid, err := ping(asked, p.Socket())
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case pid == 0 && !isQueueFull(err) && asked.Err() == nil:
		return nil // nobody is there
	}
	if pid == 0 && p.Holder != nil {
		pid = p.Holder()
	}
	silent := &NoAnswerError{PID: pid, Stopped: peer.Stopped(pid)}
	return &tool.Error{
		Op: "client.Probe", Kind: tool.Unavailable, Message: silent.Error(), Hint: silent.Fix(), Err: silent,
	}
}

// stuck is the error of a short request that a living kernel does not answer.
func (p Process) stuck(after time.Duration) error {
	silent := &NoAnswerError{Alive: after}
	if p.Holder != nil {
		silent.PID = p.Holder()
	}
	return &tool.Error{
		Op: "client", Kind: tool.Timeout, Message: silent.Error(), Hint: silent.Fix(), Err: silent,
	}
}

// ping makes the cheapest of requests. An answer of any kind is a sign of life: an
// older kernel does not know the route. pid is the process that serves the socket.
func ping(ctx context.Context, socket string) (pid int, err error) {
	conn, err := peer.Dial(ctx, socket)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if p, ok := peer.Of(conn); ok {
		pid = p.PID
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	const request = protocol.RoutePing + " HTTP/1.1\r\nHost: callgate\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return pid, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if ctx.Err() == nil {
			return 0, err // it ended meanwhile
		}
		return pid, err
	}
	return pid, resp.Body.Close()
}

// IsNoAnswer reports whether an error says that the kernel's process is there and
// does not answer. Repeating the request would wait as long again.
func IsNoAnswer(err error) bool {
	var silent *NoAnswerError
	return errors.As(err, &silent)
}

// isStopped reports whether the process that does not answer is known to be stopped.
func isStopped(err error) bool {
	var silent *NoAnswerError
	return errors.As(err, &silent) && silent.Stopped
}

// notice is what a person who waits is told of a kernel that does not answer.
func notice(err error) string {
	var silent *NoAnswerError
	if !errors.As(err, &silent) {
		return err.Error()
	}
	return silent.Error() + "; " + silent.Fix()
}

// Runs reports whether a kernel answers. One that is not known of counts as running.
func (p Process) Runs(ctx context.Context) bool {
	if p.Socket == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := ping(ctx, p.Socket())
	return err == nil
}
