// Package wire makes the bodies of the protocol from the kernel's own types. It
// is the one place where both are known: a field that is added to a type of the
// kernel does not reach clients before it is added here.
package wire

import (
	"callgate/internal/agent/surface"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/permission"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel/recovery"
	"callgate/internal/kernel/scripts"
	"callgate/internal/kernel/secrets"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/trial"
	"callgate/internal/protocol"
	"callgate/internal/protocol/scoped"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/token"
)

// List converts each element. An empty list is [], not null.
func List[T, U any](list []T, convert func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// orNil converts each element, and keeps an empty list nil, which is left out.
func orNil[T, U any](list []T, convert func(T) U) []U {
	if len(list) == 0 {
		return nil
	}
	return List(list, convert)
}

// pointer converts what a pointer points to; nil stays nil.
func pointer[T, U any](p *T, convert func(T) U) *U {
	if p == nil {
		return nil
	}
	out := convert(*p)
	return &out
}

// Approval converts a request for approval.
func Approval(r approval.Request) protocol.Approval {
	return protocol.Approval{
		ID: r.ID, State: protocol.ApprovalState(r.State), Call: r.Call, Workspace: r.Workspace, AppFile: r.AppFile,
		Risk: r.Risk, Reason: r.Reason, Claims: r.Claims, AskedAt: r.AskedAt, Deadline: r.Deadline,
		Asker: protocol.Requester(r.Asker), ToolApp: r.ToolApp,
		Choices: orNil(r.Choices, func(c approval.Choice) protocol.Choice { return protocol.Choice(c) }),
		Session: pointer(r.Session, func(c approval.Choice) protocol.Choice { return protocol.Choice(c) }),
		Script:  pointer(r.Script, scriptPlace),
		Answer:  pointer(r.Answer, approvalAnswer),
	}
}

// ScriptCall says how far a call of a script is.
func ScriptCall(s scripts.Step) protocol.ScriptCall { return protocol.ScriptCall(s) }

func scriptPlace(s approval.Script) protocol.ScriptPlace {
	return protocol.ScriptPlace{
		Call: s.Call, Program: s.Program, Line: s.Line, Batch: s.Batch, Of: s.Of,
		Offer: pointer(s.Offer, func(c approval.Choice) protocol.Choice { return protocol.Choice(c) }),
	}
}

func approvalAnswer(a approval.Answer) protocol.ApprovalAnswer {
	return protocol.ApprovalAnswer{
		Approve: a.Approve, Args: a.Args, Claims: a.Claims, Always: a.Always, Feedback: a.Feedback, By: a.By, At: a.At,
		Unasked: a.Unasked, With: a.With, Script: a.Script,
		Remember: pointer(a.Remember, func(m approval.Remember) protocol.Remember { return protocol.Remember(m) }),
	}
}

// Grant converts a lasting grant.
func Grant(g lasting.Grant) protocol.Grant {
	return protocol.Grant{
		ID: g.ID, Tool: g.Tool, Text: g.Text, Match: g.Match, Exact: g.Exact, Folder: g.Folder, App: g.App,
		AppFile: g.AppFile,
		Until:   g.Until, Made: g.Made, By: g.By, Approval: g.Approval, Uses: protocol.GrantUses(g.Uses),
	}
}

// GrantSuggestion converts a suggested lasting grant.
func GrantSuggestion(s lasting.Suggestion) protocol.GrantSuggestion {
	return protocol.GrantSuggestion{Grant: Grant(s.Grant), Approved: s.Approved, Last: s.Last, Examples: s.Examples}
}

// RulesReport converts the outcome of a trial of rules.
func RulesReport(r trial.Report) protocol.RulesReport {
	return protocol.RulesReport{
		Calls: r.Calls, Unknown: r.Unknown, Groups: List(r.Groups, func(g trial.Group) protocol.RulesGroup {
			return protocol.RulesGroup{
				Tool: g.Tool, Before: string(g.Before), Now: string(g.Now), Why: g.Why, Count: g.Count,
				Examples: List(g.Examples, func(e trial.Example) protocol.RulesExample { return protocol.RulesExample(e) }),
			}
		}),
	}
}

// Token converts a token.
func Token(t token.Token) protocol.Token {
	return protocol.Token{
		ID: t.ID, Name: t.Name, Role: string(t.Role), Profile: t.Profile, By: t.By,
		User: t.User, FullName: t.FullName, Teams: t.Teams,
		Login: t.Login, Bearer: t.Bearer, Revoked: t.Revoked, Created: t.Created, Expires: t.Expires, LastUsed: t.LastUsed,
	}
}

// Record converts a record of the journal.
func Record(r journal.Record) protocol.Record {
	return protocol.Record{
		Seq: r.Seq, Epoch: r.Epoch, Time: r.Time, Kind: protocol.RecordKind(r.Kind), Call: r.Call, Parent: r.Parent,
		Principal: r.Principal, Name: r.Name, Tool: r.Tool, ModelChoice: r.ModelChoice, Note: r.Note,
		Ask:    pointer(r.Ask, recordAsk),
		Answer: pointer(r.Answer, func(a journal.Answer) protocol.RecordAnswer { return protocol.RecordAnswer(a) }),
		End:    pointer(r.End, recordEnd),
		Opening: pointer(r.Opening, func(o journal.Opening) protocol.RecordOpening {
			cut := pointer(o.Cut, func(c journal.Truncation) protocol.RecordTruncation { return protocol.RecordTruncation(c) })
			return protocol.RecordOpening{Kernel: o.Kernel, Start: o.Start, Since: o.Since, Cut: cut}
		}),
		Summary: pointer(r.Summary, func(s journal.PruneSummary) protocol.RecordPruned { return protocol.RecordPruned(s) }),
		Files:   recordFiles(r.Files), Doubt: pointer(r.Doubt, recordDoubt),
		Resolution: pointer(r.Resolution, func(r doubt.Resolution) protocol.RecordResolution {
			return protocol.RecordResolution(r)
		}),
	}
}

func recordFiles(files []doubt.FileState) []protocol.RecordFile {
	return orNil(files, func(f doubt.FileState) protocol.RecordFile { return protocol.RecordFile(f) })
}

func recordDoubt(d doubt.Facts) protocol.RecordDoubt {
	return protocol.RecordDoubt{
		Record: d.Record, Begun: d.Begun, Claims: d.Claims, Workspace: d.Workspace, AppFile: d.AppFile,
		Files: recordFiles(d.Files),
	}
}

// Doubt converts what is known of a call in doubt.
func Doubt(r recovery.Report) protocol.Doubt {
	d := protocol.Doubt{
		Record: Record(r.Doubted), State: r.State, Changed: string(r.Changed), Why: r.Why,
		Attempts: orNil(r.Attempts, func(a recovery.Attempt) protocol.DoubtAttempt { return protocol.DoubtAttempt(a) }),
	}
	if r.Resolved != nil {
		resolution := protocol.RecordResolution(*r.Resolved)
		d.Resolution = &resolution
	}
	return d
}

func recordAsk(a journal.Ask) protocol.RecordAsk {
	return protocol.RecordAsk{
		Verdict: protocol.Verdict(a.Verdict), Reason: a.Reason, Error: a.Error, Args: a.Args, ArgsRef: a.ArgsRef,
		Coercions: a.Coercions, Claims: a.Claims, Approval: a.Approval, Workspace: a.Workspace, AppFile: a.AppFile,
		Line: a.Line,
	}
}

func recordEnd(e journal.End) protocol.RecordEnd { return protocol.RecordEnd(e) }

// Output converts what a running call printed.
func Output(o outputbus.Output) protocol.Output { return protocol.Output(o) }

// VerifyReport converts a report on the journal.
func VerifyReport(r journal.Report) protocol.VerifyReport {
	return protocol.VerifyReport{
		First: r.First, Last: r.Last, Records: r.Records, Epochs: r.Epochs, Dropped: r.Dropped, Gaps: r.Gaps,
		Anchored: r.Anchored, Head: r.Head, More: r.More, Warning: r.Warning,
		Problems: orNil(r.Problems, func(p journal.Problem) protocol.VerifyProblem { return protocol.VerifyProblem(p) }),
	}
}

// Locks converts a snapshot of the lock table.
func Locks(s lock.Snapshot) protocol.Locks {
	return protocol.Locks{
		Held: List(s.Held, func(h lock.Held) protocol.HeldLock {
			return protocol.HeldLock{
				Resource: h.Resource, Mode: h.Mode, Holder: protocol.LockHolder(h.Holder),
				Since: h.Since, Until: h.Until, Expired: h.Expired,
			}
		}),
		Waiting: List(s.Waiting, func(w lock.Waiting) protocol.WaitingLock {
			return protocol.WaitingLock{
				Resource: w.Resource, Mode: w.Mode, Holder: protocol.LockHolder(w.Holder),
				Since: w.Since, Until: w.Until, Position: w.Position, Behind: blocker(w.Behind),
			}
		}),
	}
}

func blocker(b lock.Blocker) protocol.LockBlocker {
	return protocol.LockBlocker{
		Node:     b.Node,
		Resource: b.Resource, Mode: b.Mode, Holder: protocol.LockHolder(b.Holder),
		Since: b.Since, Queued: b.Queued, Expired: b.Expired,
	}
}

// Secret converts what is known of a secret.
func Secret(i secrets.Info) protocol.Secret {
	return protocol.Secret{Name: i.Info.Name, Source: i.Source, Set: i.Set, Secret: scoped.Secret{
		Scope: i.Scope, App: i.App, User: i.User,
	}}
}

// Surface converts the tools as a model is shown them.
func Surface(p *surface.Plan) *protocol.Surface {
	return &protocol.Surface{
		Mode: string(p.Mode), Forced: p.Forced, Window: p.Window, WindowFrom: p.WindowFrom, Budget: p.Budget,
		ToolTokens: p.ToolTokens, CompactTokens: p.CompactTokens, DiscoveryTokens: p.DiscoveryTokens,
		PerTool:     List(p.PerTool, func(c surface.Cost) protocol.ToolCost { return protocol.ToolCost(c) }),
		Shown:       List(p.Shown, func(e surface.Entry) protocol.SurfaceTool { return protocol.SurfaceTool(e) }),
		ShownTokens: p.ShownTokens, Reason: p.Reason, WouldChange: p.WouldChange, Unmatched: p.Unmatched,
	}
}

// ServerStatus converts how a server stands.
func ServerStatus(s mcp.Status) protocol.ServerStatus {
	return protocol.ServerStatus{
		Name: s.Name, State: protocol.ServerState(s.State), Server: s.Server, Protocol: s.Protocol,
		Instructions: s.Instructions, Resources: s.Resources, Prompts: s.Prompts, Tools: s.Tools, Fetched: s.Fetched,
		Pid: s.Pid, Since: s.Since, Calls: s.Calls, Failures: s.Failures, InFlight: s.InFlight, Waiting: s.Waiting,
		LastError: s.LastError, NextTry: s.NextTry,
	}
}

// Server converts a server of an app.
func Server(s servers.Server) protocol.Server {
	return protocol.Server{
		ServerStatus: ServerStatus(s.Status), Module: s.Module, Level: level(s.FromUser), Launch: s.Launch,
		Parts: protocol.Launch(s.Parts), Reach: s.Reach, Accepted: s.Accepted,
		Held: orNil(s.Held, heldTool), Problems: s.Problems, Locks: s.Locks,
	}
}

// ServerLogLine converts a line that a server wrote.
func ServerLogLine(l mcp.LogLine) protocol.ServerLogLine { return protocol.ServerLogLine(l) }

func heldTool(h trust.Held) protocol.HeldTool {
	before := trust.Definition{}
	if h.Before != nil {
		before = *h.Before
	}
	return protocol.HeldTool{
		Definition: definition(h.Definition), Hash: h.Definition.Hash().String(), Reason: protocol.HeldReason(h.Reason),
		Before: pointer(h.Before, definition), Diff: trust.Diff(before, h.Definition),
		Findings: orNil(h.Findings, func(f trust.Finding) protocol.Finding {
			return protocol.Finding{
				Rule: f.Rule, Severity: string(f.Severity), Where: f.Where, Excerpt: f.Excerpt, Why: f.Why,
			}
		}),
		Rejected: pointer(h.Rejected, func(s trust.Stamp) protocol.Stamp { return protocol.Stamp(s) }),
	}
}

func definition(d trust.Definition) protocol.Definition { return protocol.Definition(d) }

// Word converts a human's word on a server. A reference that names no hash is
// Invalid.
func Word(t protocol.Trust) (servers.Word, error) {
	w := servers.Word{Launch: t.Launch, By: t.By}
	for _, refs := range []struct {
		from []protocol.DefinitionRef
		to   *[]trust.DefinitionRef
	}{{t.Accept, &w.Accept}, {t.Reject, &w.Reject}} {
		for _, ref := range refs.from {
			one := trust.DefinitionRef{Name: ref.Name}
			if err := one.Hash.UnmarshalText([]byte(ref.Hash)); err != nil {
				return w, err
			}
			*refs.to = append(*refs.to, one)
		}
	}
	return w, nil
}

// ConversationInfo converts a conversation as a list shows it.
func ConversationInfo(i history.Info) protocol.ConversationInfo {
	return protocol.ConversationInfo{
		ID: i.ID, App: i.App, AppFile: i.AppFile, Agent: i.Agent, Lane: i.Lane, Workspace: i.Workspace, User: i.User,
		Parent: i.Parent, Forked: i.Forked, Title: i.Title, Created: i.Created, Updated: i.Updated, Events: i.Events,
		Turns: i.Turns, ToolCalls: i.ToolCalls, Usage: i.Usage, Own: i.Own, Last: protocol.EndReason(i.Last),
	}
}

// HistoryEvent converts an event of a conversation.
func HistoryEvent(e history.Event) protocol.HistoryEvent {
	return protocol.HistoryEvent{
		Seq: e.Seq, At: e.At, Type: protocol.EventType(e.Type), Message: e.Message, Queued: e.Queued,
		By: e.By, Task: e.Task, Tasks: e.Tasks, Usage: e.Usage, Model: e.Model, AppMode: e.AppMode,
		Call:   pointer(e.Call, AgentCall),
		System: orNil(e.System, func(s history.Section) protocol.SystemSection { return protocol.SystemSection(s) }),
		Told:   e.Told,
		Result: pointer(e.Result, func(r history.Result) protocol.HistoryResult { return protocol.HistoryResult(r) }),
		End:    pointer(e.End, HistoryEnd), Compaction: pointer(e.Compaction, Compaction),
		Rewind: pointer(e.Rewind, func(r history.Rewind) protocol.Rewind { return protocol.Rewind(r) }),
		Cut: pointer(e.Cut, func(c history.Cut) protocol.AnswerCut {
			return protocol.AnswerCut{Why: string(c.Why), Note: c.Note}
		}),
	}
}

// QueuedMessage converts a message that waits for a model.
func QueuedMessage(q history.QueuedMessage) protocol.QueuedMessage {
	return protocol.QueuedMessage{ID: q.ID, Text: q.Message.Text()}
}

// ModelChoice converts a model that a conversation may change to.
func ModelChoice(m conversation.ModelChoice) protocol.ModelChoice {
	choice := protocol.ModelChoice{
		Name: m.Name(), InApp: m.InApp, Current: m.Current, Window: m.Window, Native: m.NativeTools,
	}
	if m.Err != nil {
		choice.Problem = m.Err.Error()
	}
	return choice
}

// AgentCall converts a call of a model.
func AgentCall(c history.Call) protocol.AgentCall { return protocol.AgentCall(c) }

// HistoryEnd converts how a turn ended.
func HistoryEnd(e history.End) protocol.HistoryEnd {
	return protocol.HistoryEnd{Reason: protocol.EndReason(e.Reason), Error: e.Error, Note: e.Note}
}

// Compaction converts how a conversation was made shorter.
func Compaction(c history.Compaction) protocol.Compaction {
	return protocol.Compaction{
		Summary: c.Summary, Kept: c.Kept, Pinned: c.Pinned, Dropped: c.Dropped, Warning: c.Warning,
		Before: c.Before, After: c.After, Usage: c.Usage, Model: c.Model,
		Shortened: orNil(c.Shortened, func(s history.Shortened) protocol.Shortened { return protocol.Shortened(s) }),
	}
}

// Permissions converts the permissions of a session.
func Permissions(s permission.State) protocol.Permissions {
	p := protocol.Permissions{Mode: protocol.PermissionMode(s.Mode), By: s.By, Unattended: s.Unattended}
	for _, e := range s.Allow {
		p.Allow = append(p.Allow, e.String())
	}
	return p
}
