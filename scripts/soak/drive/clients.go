//go:build linux

package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/scripts/soak/history"
	"callgate/tool"
)

// crowd is the clients of a life.
type crowd struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// end has the clients make no more calls, and waits for those under way.
func (c *crowd) end() {
	c.cancel()
	c.all.Wait()
}

func (g *group) startClients(ctx context.Context, l life, rng *rand.Rand) *crowd {
	c := &crowd{}
	ctx, c.cancel = context.WithCancel(ctx)
	seed := func() *rand.Rand { return rand.New(rand.NewPCG(rng.Uint64(), 1)) }
	client := func(work func(context.Context, *rand.Rand)) {
		own := seed()
		c.all.Go(func() { work(ctx, own) })
	}
	switch l.kind {
	case byCommand:
		client(g.command)
		client(g.command)
	case byBridge:
		client(g.overBridge)
		client(g.overBridge)
	default:
		client(g.overHTTP)
		client(g.overHTTP)
		if !l.alone {
			client(g.overBridge)
		}
		if rng.IntN(3) == 0 {
			client(g.command)
		}
	}
	if l.talks && l.kind != byCommand {
		client(agent{g}.converse)
	}
	if l.lasts && l.kind != byCommand {
		client(agent{g}.defers)
		client(human{g}.answerApprovals)
		client(sender{g}.posts)
	}
	return c
}

// proposal is a call that a client is about to make.
type proposal struct {
	op    history.Op
	name  string // of the tool, with a dot
	args  map[string]any
	later *deferral // it has something happen later; nil: it does not
}

// wire is the name of the tool as models see it.
func (p proposal) wire() string { return strings.ReplaceAll(p.name, ".", "__") }

func (p proposal) json() json.RawMessage {
	data, _ := json.Marshal(p.args) // strings and numbers
	return data
}

// propose makes up a call.
func (g *group) propose(rng *rand.Rand, via string) proposal {
	file := files[rng.IntN(len(files))]
	before, after := rng.IntN(80)*rng.IntN(2), rng.IntN(80)*rng.IntN(2)
	n := rng.IntN(100)
	if g.npm != "" && n < 20 {
		p := proposal{op: g.newOp(history.Write, file, via, "mcp_npm.write_file"), name: "mcp_npm.write_file"}
		p.op.Unledgered = true
		p.args = map[string]any{"path": filepath.Join(g.work, file), "content": p.op.ID + "\n"}
		return p
	}
	switch {
	case n < 30:
		p := proposal{op: g.newOp(history.Write, file, via, "mcp_soak.put"), name: "mcp_soak.put"}
		p.args = map[string]any{"file": file, "id": p.op.ID, "before": before, "after": after}
		return p
	case n < 34:
		p := proposal{op: g.newOp(history.Append, "", via, "shell.bash"), name: "shell.bash"}
		p.args = map[string]any{"command": "echo " + p.op.ID + " >> " + shellLedger}
		return p
	case n < 60:
		p := proposal{op: g.newOp(history.Append, "", via, "mcp_soak.append"), name: "mcp_soak.append"}
		p.args = map[string]any{"id": p.op.ID, "before": before, "after": after}
		return p
	case n < 80:
		p := proposal{op: g.newOp(history.Write, file, via, "filesystem.write"), name: "filesystem.write"}
		p.op.Unledgered = true
		p.args = map[string]any{"path": file, "content": p.op.ID + "\n"}
		return p
	case n < 90:
		p := proposal{op: g.newOp(history.Read, file, via, "filesystem.read"), name: "filesystem.read"}
		p.args = map[string]any{"path": file}
		return p
	}
	p := proposal{op: g.newOp(history.Read, file, via, "mcp_soak.get"), name: "mcp_soak.get"}
	p.args = map[string]any{"file": file}
	return p
}

// answered puts a call on record.
func (g *group) answered(op history.Op, told history.Told, text string) {
	op.Done, op.Told, op.Text = time.Now(), told, text
	if op.Verb == history.Read && told == history.Success {
		op.Saw = idPattern.FindString(text)
	}
	g.ops.Add(1)
	g.log.add(op)
}

// toldBy is what a kind of error tells about a call.
func toldBy(kind tool.Kind) history.Told {
	switch kind {
	case tool.InDoubt:
		return history.InDoubt
	case tool.Cancelled, tool.Timeout:
		return history.Stopped
	}
	return history.NotBegun
}

// overHTTP makes calls over the kernel's HTTP API until the kernel is gone.
func (g *group) overHTTP(ctx context.Context, rng *rand.Rand) {
	c := g.client()
	defer c.Close()
	var s *client.Session
	for ctx.Err() == nil {
		if s == nil {
			bounded, cancel := context.WithTimeout(context.Background(), patience)
			opened, err := c.OpenSession(bounded, protocol.OpenSession{Workspace: g.work})
			cancel()
			if err != nil {
				if g.kernel() == 0 {
					return
				}
				wait(ctx, 5*time.Millisecond)
				continue
			}
			s = opened
		}
		p := g.propose(rng, "http")
		bounded, cancel := context.WithTimeout(context.Background(), patience)
		r, err := s.Call(bounded, protocol.CallRequest{Name: p.name, Args: p.json()})
		late := bounded.Err() != nil
		cancel()
		told, text := toldByResult(r, err)
		if late {
			told, text = history.Silent, fmt.Sprintf("no answer within %s", patience)
		}
		g.answered(p.op, told, text)
		if err != nil {
			s = nil
		}
	}
}

// toldByResult is what a result, or an error in its place, tells.
func toldByResult(r *tool.Result, err error) (history.Told, string) {
	switch {
	case err != nil:
		return toldBy(tool.KindOf(err)), err.Error()
	case r.Status == tool.Success:
		var b strings.Builder
		for _, c := range r.Content {
			b.WriteString(c.Text)
		}
		b.Write(r.Data)
		return history.Success, b.String()
	case r.Error != nil:
		return toldBy(r.Error.Kind), string(r.Error.Kind) + ": " + r.Summary
	}
	return history.NotBegun, r.Summary
}

// command makes calls with the command line, each a process of its own.
func (g *group) command(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		p := g.propose(rng, "command")
		cmd, err := g.start("client", g.Binary, "tools", "call", "--json", p.name, "--args", string(p.json()))
		if err != nil {
			g.log.problem(Unstartable, p.op.ID, err.Error())
			return
		}
		if !cmd.ended(patience) {
			cmd.kill()
			g.answered(p.op, history.Silent, fmt.Sprintf("the command did not end within %s", patience))
			continue
		}
		told, text := toldByCommand(cmd)
		g.answered(p.op, told, text)
	}
}

// toldByCommand is what a command that has ended told.
func toldByCommand(cmd *process) (history.Told, string) {
	if cmd.wasShot() && cmd.ProcessState.ExitCode() == -1 {
		return history.Gone, ""
	}
	var r tool.Result
	if err := json.Unmarshal(cmd.out.Bytes(), &r); err != nil {
		return history.Silent, fmt.Sprintf("exit code %d and no JSON: %s%s", cmd.ProcessState.ExitCode(), cmd.out, cmd.err)
	}
	told, text := toldByResult(&r, nil)
	code := cmd.ProcessState.ExitCode()
	full := code == 7 && strings.Contains(cmd.err.String(), "the kernel failed to close") // its own, on a full disk
	if (code == 8) != (told == history.InDoubt) || (code == 0 || full) != (told == history.Success) {
		return history.Silent, fmt.Sprintf("exit code %d beside %s: %s; it says %s", code, told, text, cmd.err)
	}
	return told, text
}
