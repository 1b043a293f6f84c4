package dial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/internal/nowait"
	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/process"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/stdio"
	"callgate/internal/source/mcp/throttle"
	"callgate/tool"
)

// handshakeShare is the part of the start timeout for which the new handshake
// may go unanswered over a pipe.
const handshakeShare = 6

// dialCommand starts the command. Some servers end when they meet the new
// handshake: those are started once more, with the old one.
func (d *Dialer) dialCommand(ctx context.Context, t Target, legacy time.Time, h Hooks) (*Conn, error) {
	if d.Config.Protocol != "" {
		c, _, err := d.launch(ctx, t, d.Config.Protocol, h)
		return c, err
	}
	version := ""
	if !legacy.IsZero() {
		version = config.LegacyProtocol
	}
	c, pipe, err := d.launch(ctx, t, version, h)
	endedAtOnce := err != nil && pipe != nil && !pipe.HasReceived() && !errors.Is(err, errSlow)
	if endedAtOnce && version == "" && ctx.Err() == nil {
		first := err
		version, legacy = config.LegacyProtocol, time.Now().UTC()
		if c, pipe, err = d.launch(ctx, t, version, h); err != nil {
			return nil, first
		}
	}
	if err != nil {
		return nil, err
	}
	if pipe.HandshakeUnanswered() {
		legacy = time.Now().UTC()
	}
	c.Legacy = legacy
	return c, nil
}

// launch starts the command and opens a connection over its pipes. The pipe is
// returned with an error too: it knows whether the server ever answered.
func (d *Dialer) launch(ctx context.Context, t Target, version string, h Hooks) (*Conn, *stdio.Conn, error) {
	began, strays := time.Now(), d.Log.StrayLines()
	command := t.command
	lines := &serverlog.Writer{Log: d.Log, Stream: "stderr"}
	if command.Log = lines; d.Lines != nil {
		command.Log = &throttle.Lines{To: lines, Meter: d.Lines}
	}
	proc, err := process.Start(command)
	if err != nil {
		var e *tool.Error
		errors.As(err, &e)
		e.Message = "the MCP server " + d.Config.Name + " cannot be started: " + e.Message
		return nil, nil, e
	}
	pipe := stdio.New(stdio.Options{
		In: nowait.Reader(proc.Out), Out: proc.In, ReadDeadline: proc.Out.SetReadDeadline,
		OnStray:          func(line []byte) { d.Log.Add("stdout", string(line)) },
		OnMessage:        h.Notification,
		Meter:            d.Meter,
		HandshakeTimeout: d.Config.StartTimeout / handshakeShare,
		OnClose:          func() { go proc.Stop(d.Grace) },
	})
	c, err := d.connect(ctx, h, pipe, version, proc)
	if err != nil {
		pipe.Close()
		<-proc.Done()
		return nil, pipe, d.startError(err, t.walls, proc, began, d.Log.StrayLines()-strays)
	}
	return c, pipe, nil
}

// startError says why a local server did not start, and which wall stopped it if
// one did.
func (d *Dialer) startError(
	err error, walls *isolation.Walls, proc *process.Process, began time.Time, strays int,
) error {
	name := d.Config.Name
	e := &tool.Error{Op: "mcp.connect", Kind: tool.Unavailable}
	var known *tool.Error
	switch {
	case errors.As(proc.Err(), &known):
		e.Kind, e.Hint = known.Kind, known.Hint
		e.Message = fmt.Sprintf("the MCP server %s cannot be started: %s", name, known.Message)
	case errors.Is(err, errSlow):
		e.Err = errSlow
		e.Message = fmt.Sprintf("the MCP server %s did not answer within %v of being started", name, d.Config.StartTimeout)
		e.Hint = "if it is only slow, raise its start_timeout"
	case errors.Is(err, ErrEnded):
		e.Message = fmt.Sprintf("the MCP server %s ended while it was being started: %s", name, proc.Exit())
		e.Hint = "try its command in a terminal"
	case errors.As(err, &known):
		e.Kind, e.Message, e.Hint = known.Kind, known.Message, known.Hint
	default:
		e.Message = fmt.Sprintf("the MCP server %s cannot be used: %v", name, err)
	}
	if strays > 0 {
		e.Message += fmt.Sprintf("; it printed %d lines to stdout that are not MCP messages", strays)
	}
	tail := d.Log.Tail(began, d.Secrets.Redact)
	if wall, ok := walls.Explain(tail, errors.Is(err, ErrEnded), errors.Is(err, errSlow)); ok {
		e.Message += "; " + wall.What
		e.Hint = fmt.Sprintf("if you trust it, write %s below %s in the app file, and accept it again: callgate mcp trust %s",
			wall.Open, name, name)
	}
	e.Message += tail
	return e
}
