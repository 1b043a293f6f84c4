package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"callgate/internal/journal"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

// What MCP servers offer beside tools is read past the door: a whole resource is
// given to whoever reads it, uncut. The rules judge it all the same, as the
// actions resources and prompts of the server's module, and each reading is on
// record like a call that only reads.

// MayRead reports whether this session's model may read what a server offers
// beside tools: the rules judge it as the actions resources and prompts of the
// server's module.
func (s *Session) MayRead(module, what string) bool { return s.door.CanSee(offered(module, what)) }

// offered is what a reading counts as, for rules and records.
func offered(module, what string) *tool.Tool {
	return &tool.Tool{
		ID:      tool.ID{Namespace: module, Name: what, Version: tool.Version{Major: 1}},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Read},
	}
}

// what is the action that a reading is.
func what(r mcp.ReadRequest) string {
	if r.Prompt != "" {
		return "prompts"
	}
	return "resources"
}

// ReadServer reads a resource, or fills in a prompt, of one of the app's MCP
// servers, as the protocol writes it.
func (s *Session) ReadServer(ctx context.Context, name string, r mcp.ReadRequest) (json.RawMessage, error) {
	const op = "callgate.ReadServer"
	if !s.enter() {
		return nil, tool.Errorf(op, tool.Unavailable, "session %s has ended", s.ID).WithHint("open a new one")
	}
	defer s.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.kernel.ctx, cancel)()
	server, err := s.Server(name)
	if err != nil {
		return nil, err
	}
	r.Call, r.By = readingID(), s.door.Principal
	if !s.MayRead(server.Namespace(), what(r)) {
		record := s.kernel.reading(server, r)
		record.Kind, record.Ask.Verdict, record.Ask.Reason = journal.Asked, journal.Refuse, "hidden by the app's rules"
		_ = s.kernel.Journal.Append(record) // nothing happened; the answer stands without it
		return nil, tool.Errorf(op, tool.NotFound, "the MCP server %s offers no %s here", server.Config().Name, what(r))
	}
	if s.door.OnStart != nil {
		s.door.OnStart(ctx, tool.Call{ID: r.Call, Principal: r.By, Name: what(r)})
	}
	return server.Read(ctx, r)
}

// noteRead puts on record what was read of a server. What nobody has a session
// for was read by the user of this kernel, at the command line.
func (k *Kernel) noteRead(s *mcp.Server, r mcp.ReadRequest, end mcp.ReadResult) error {
	if r.Call == "" {
		r.Call, r.By = readingID(), tool.Principal{User: k.user}
	}
	record := k.reading(s, r)
	record.End = &journal.End{Status: tool.Success, Summary: fmt.Sprintf("%d bytes", end.Size), Took: end.Took}
	if end.Err != nil {
		record.End.Status, record.End.Error = tool.Failure, tool.KindOf(end.Err)
		record.End.Summary = tool.TruncateTo(k.secrets.ScrubString(end.Err.Error()), 500)
	}
	return k.Journal.Append(record)
}

// reading starts the record of a reading.
func (k *Kernel) reading(s *mcp.Server, r mcp.ReadRequest) journal.Record {
	const most = 8 << 10
	args := map[string]any{"uri": r.URI}
	if r.Prompt != "" {
		args = map[string]any{"name": r.Prompt, "arguments": r.Args}
	}
	text, _ := json.Marshal(args) // texts alone
	if text = k.secrets.Scrub(text); len(text) > most || !json.Valid(text) {
		text, _ = json.Marshal(tool.TruncateTo(string(text), most/2))
	}
	id := offered(s.Namespace(), what(r)).ID
	return journal.Record{
		Kind: journal.Ended, Call: r.Call, Principal: &r.By, Name: id.Dotted(), Tool: id.String(),
		Ask: &journal.Ask{Verdict: journal.Allow, Args: text},
	}
}

// readingID makes an id like those of calls.
func readingID() string { return "r" + strconv.FormatUint(rand.Uint64(), 36) }

// Hear has the MCP servers of this session's app tell of their work from a level
// on, those that run at once and the others when they are started.
func (s *Session) Hear(ctx context.Context, level mcp.LogLevel) {
	const moment = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	var all sync.WaitGroup
	for _, u := range s.upstreams() {
		all.Go(func() { u.SetLogLevel(ctx, level) })
	}
	all.Wait()
}
