package render_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/cli/render"
	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)

func style() render.Style { return render.Style{Now: func() time.Time { return noon }} }

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func request() protocol.Approval {
	return protocol.Approval{
		ID: "a1b2c3", State: protocol.ApprovalPending, Workspace: "/home/ada/engine", Risk: tool.High,
		Reason: "files.delete is of high risk\nand \x1b[31mthat is red", AskedAt: noon.Add(-90 * time.Second), Deadline: noon.Add(210 * time.Second),
		Claims: []tool.Claim{{Resource: "file:/home/ada/engine/x", Mode: tool.X}},
		Call: tool.Call{
			ID: "c9", Tool: tool.ID{Namespace: "files", Name: "delete", Version: tool.Version{Major: 1}},
			Principal: tool.Principal{User: "ada", App: "engine", Agent: "coder", Session: "s1"},
			Args:      json.RawMessage("{\"path\":\"x\",\"note\":\"a\u202eb\"}"),
		},
	}
}

func TestPages(t *testing.T) {
	answered := request()
	answered.ID, answered.State, answered.Call.Model = "a7", protocol.ApprovalDenied, "openai/gpt-5.4-nano"
	answered.Answer = &protocol.ApprovalAnswer{By: "ada", At: noon, Feedback: "not today", Args: json.RawMessage(`{"path":"y"}`)}
	holder := func(call string) protocol.LockHolder { return protocol.LockHolder{Call: call, Tool: "files.write"} }
	for _, c := range []struct {
		name  string
		write func(*strings.Builder) error
	}{
		{"tools", func(b *strings.Builder) error { return style().Tools(b, tools()) }},
		{"tools-narrow", func(b *strings.Builder) error { s := style(); s.Width = 60; return s.Tools(b, tools()) }},
		{"tools-color", func(b *strings.Builder) error { s := style(); s.Color = true; return s.Tools(b, tools()) }},
		{"tool", func(b *strings.Builder) error { return style().Tool(b, tools()[0], "callgate tools call") }},
		{"tool-bare", func(b *strings.Builder) error { return style().Tool(b, tools()[1], "callgate tools call") }},
		{"usage", func(b *strings.Builder) error { return style().Usage(b, tools()[0], "callgate tools call") }},
		{"approvals", func(b *strings.Builder) error { return style().Approvals(b, []protocol.Approval{request(), answered}) }},
		{"approval", func(b *strings.Builder) error { return style().Approval(b, request()) }},
		{"approval-answered", func(b *strings.Builder) error { return style().Approval(b, answered) }},
		{"locks", func(b *strings.Builder) error {
			return style().Locks(b, protocol.Locks{
				Held: []protocol.HeldLock{{Resource: "file:/w/a", Mode: tool.U, Holder: holder("c1"), Since: noon.Add(-3 * time.Second)},
					{Resource: "file:/w/b", Mode: tool.X, Holder: holder("c2"), Since: noon.Add(-3 * time.Hour), Expired: true}},
				Waiting: []protocol.WaitingLock{{Resource: "file:/w/a", Mode: tool.X, Holder: holder("c3"), Since: noon.Add(-time.Second), Position: 1,
					Behind: protocol.LockBlocker{Holder: holder("c1"), Queued: true}}},
			})
		}},
		{"locks-none", func(b *strings.Builder) error { return style().Locks(b, protocol.Locks{}) }},
		{"records", func(b *strings.Builder) error {
			for _, r := range records() {
				if err := style().Record(b, r); err != nil {
					return err
				}
			}
			return nil
		}},
		{"call", func(b *strings.Builder) error { return style().Call(b, records()[1:6]) }},
		{"doubts", func(b *strings.Builder) error {
			return style().Doubts(b, []protocol.Doubt{{Record: records()[7], State: "judged", Changed: "unknown"}})
		}},
		{"report", func(b *strings.Builder) error {
			return style().Report(b, protocol.VerifyReport{First: 3, Last: 9, Records: 7, Epochs: 2, Dropped: 2, Head: "ab12"})
		}},
		{"report-one", func(b *strings.Builder) error {
			return style().Report(b, protocol.VerifyReport{First: 2, Last: 2, Records: 1, Epochs: 1, Dropped: 1, Gaps: 1, Head: "ab12"})
		}},
		{"report-damaged", func(b *strings.Builder) error {
			return style().Report(b, protocol.VerifyReport{First: 1, Last: 9, Records: 8, Epochs: 1, Head: "ab12", More: 3,
				Problems: []protocol.VerifyProblem{{Seq: 4, What: "record 4 is missing"}}})
		}},
		{"conversation", func(b *strings.Builder) error { return style().Conversation(b, history()) }},
		{"conversations", func(b *strings.Builder) error {
			return style().Conversations(b, []protocol.ConversationInfo{history().ConversationInfo, {ID: "t2", App: "engine", Agent: "main"}})
		}},
		{"servers", func(b *strings.Builder) error { return style().Servers(b, servers()) }},
		{"held-tool", func(b *strings.Builder) error { return style().HeldTool(b, "files", servers()[1].Held[0]) }},
		{"search", func(b *strings.Builder) error {
			return style().SearchResult(b, &protocol.SearchResult{Answers: []protocol.QueryResult{
				{Query: "read a file", Total: 3, Hits: []protocol.SearchHit{{Tool: tools()[0], Score: 9.5, Why: "meaning 0.95"}}},
				{Query: "nothing"},
			}})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := c.write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name, b.String())
		})
	}
}

func tools() []protocol.Tool {
	return []protocol.Tool{
		{
			Spec: tool.Spec{
				Name: "files.read", Short: "Read", Aliases: []string{"cat", "look into a file"}, Tags: []string{"file"},
				Description: "Reads a text file. Lines are numbered.\n\nLarge files are cut.",
				Input: json.RawMessage(`{"type":"object","required":["path"],"properties":{
					"limit":{"type":"integer","default":2000,"description":"how many lines"},
					"path":{"type":"string","description":"the file,\nin the workspace"},
					"kind":{"enum":["text","bytes"]},
					"only":{"type":"array","items":{"type":"string"}}}}`),
				Examples: []tool.Example{{Note: "the first lines", Args: json.RawMessage(`{"path":"my notes.md","limit":5}`)}},
			},
			ID: tool.ID{Namespace: "files", Name: "read", Version: tool.Version{Major: 1}}, Wire: "files__read",
			Signature: "path: str, limit?: int", Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Policy: "allow", Reason: "low risk",
			Claims: []tool.Effect{
				{Resource: "file:{path}", Mode: tool.S, Folder: "/a"}, {Resource: "file:{path}", Mode: tool.S, Folder: "/b"},
				{Resource: "server:user/files", Mode: tool.IS, Unless: []string{"kind"}},
			},
		},
		{
			Spec: tool.Spec{
				Name:        "mail.send",
				Description: "Sends \x1b]0;mail\x07 to someone, whoever they may be and wherever",
				Input:       json.RawMessage(`{"type":"object"}`),
			},
			ID:     tool.ID{Namespace: "mail", Name: "send", Version: tool.Version{Minor: 2}},
			Policy: "approve", SideEffect: tool.External,
		},
		{Spec: tool.Spec{Name: "disk.wipe"}, Signature: "all?: bool", Risk: tool.High, Policy: "deny"},
	}
}

func history() protocol.History {
	event := func(kind protocol.EventType) protocol.HistoryEvent { return protocol.HistoryEvent{Type: kind} }
	user, note, made := event(protocol.EventUser), event(protocol.EventNote), event(protocol.EventCallMade)
	user.Message = message(llm.User, "read the \x1b[2J notes")
	note.Message = message(llm.User, "a task ended")
	made.Call = &protocol.AgentCall{Name: "files__read", Args: json.RawMessage(`{"path":"notes"}`)}
	failed, said, ended := event(protocol.EventCallEnded), event(protocol.EventAssistant), event(protocol.EventTurnEnded)
	failed.Result = &protocol.HistoryResult{Status: tool.Failure, Summary: "no such\nfile"}
	said.Message = message(llm.Assistant, "They do not exist.")
	ended.End = &protocol.HistoryEnd{Reason: protocol.EndTimedOut, Error: "it took too long"}
	compacted, cut := event(protocol.EventCompacted), event(protocol.EventCompacted)
	compacted.Compaction, cut.Compaction = &protocol.Compaction{Summary: "notes were asked for"}, &protocol.Compaction{}
	taken, back, waits, returned := event(protocol.EventQueued), event(protocol.EventQueued),
		event(protocol.EventQueued), event(protocol.EventReturned)
	steered := event(protocol.EventUser)
	taken.Seq, taken.Message, steered.Queued, steered.Message = 20, message(llm.User, "all of them"), 20, message(llm.User, "all of them")
	back.Seq, back.Message, returned.Queued = 21, message(llm.User, "or \x1b[2J not"), 21
	waits.Seq, waits.Message = 22, message(llm.User, "and the tests")
	model := event(protocol.EventModel)
	model.Model = "anthropic/claude-sonnet-4-5"
	return protocol.History{
		ConversationInfo: protocol.ConversationInfo{
			ID: "t1", App: "engine", Agent: "coder", Workspace: "/home/ada/engine", Turns: 1, ToolCalls: 1,
			Updated: noon.Add(-time.Minute), Last: protocol.EndTimedOut, Title: "read the notes",
			Usage: llm.Usage{Input: 12, Output: 3},
		},
		Log: []protocol.HistoryEvent{user, note, made, failed, taken, steered, said, back, returned, ended, compacted, cut, model, waits},
	}
}

func message(role llm.Role, words string) *llm.Message {
	m := llm.TextMessage(role, words)
	return &m
}

func servers() []protocol.Server {
	return []protocol.Server{
		{ServerStatus: protocol.ServerStatus{Name: "hub", State: "failed", LastError: "it ended"}, Level: "project", Launch: "hub-server", Accepted: true},
		{ServerStatus: protocol.ServerStatus{Name: "files", State: "running", Tools: 1, Calls: 2, Protocol: "2025-11-25"}, Level: "project", Launch: "npx files",
			Accepted: true, Held: []protocol.HeldTool{{
				Definition: protocol.Definition{Name: "read"}, Reason: protocol.HeldChanged, Diff: "- old\n+ new\n",
				Findings: []protocol.Finding{{Severity: "high", Where: "description", Why: "it speaks to a model", Excerpt: "ignore"}},
			}}},
		{ServerStatus: protocol.ServerStatus{Name: "wiki"}, Level: "user", Launch: "https://example.com/mcp",
			Problems: []string{"tuch: the app file says what it locks, and the server does not have it", "b", "c", "d"}},
	}
}

func records() []protocol.Record {
	who := &tool.Principal{User: "ada", App: "engine", Session: "s1"}
	of := func(seq uint64, kind protocol.RecordKind) protocol.Record {
		return protocol.Record{
			Seq:       seq,
			Epoch:     1,
			Time:      noon.Add(time.Duration(seq) * time.Second),
			Kind:      kind,
			Call:      "c9",
			Principal: who,
			Name:      "rm",
			Tool:      "files:delete@1.0.0",
		}
	}
	opened, asked, answered, begun, noted, end := of(
		1,
		protocol.RecordKindOpened,
	), of(
		2,
		protocol.RecordKindAsked,
	), of(
		3,
		protocol.RecordKindAnswered,
	), of(
		4,
		protocol.RecordKindBegun,
	), of(
		5,
		protocol.RecordKindNoted,
	), of(
		6,
		protocol.RecordKindEnded,
	)
	opened.Call, opened.Principal, opened.Name, opened.Tool = "", nil, "", ""
	opened.Opening = &protocol.RecordOpening{Kernel: "0.1.0", Start: true, Cut: &protocol.RecordTruncation{Anchor: 9, Head: 7}}
	asked.Ask = &protocol.RecordAsk{
		Verdict:   protocol.VerdictWait,
		Reason:    "it is risky",
		Args:      json.RawMessage(`{"path":"x"}`),
		Approval:  "a1",
		Coercions: []string{"path was trimmed"},
		Claims:    []tool.Claim{{Resource: "file:/w/x", Mode: tool.X}},
	}
	answered.Answer = &protocol.RecordAnswer{
		Approval: "a1",
		Verdict:  "approved",
		By:       "ada",
		Always:   true,
		Feedback: "go on",
		Args:     json.RawMessage(`{"path":"y"}`),
	}
	noted.Note = "its lock was let go early"
	end.End = &protocol.RecordEnd{
		Status:   tool.Failure,
		Error:    tool.Failed,
		Summary:  "no such\nfile",
		Warnings: []string{"slow disk"},
		Took:     1500 * time.Millisecond,
		Result:   json.RawMessage(`{"status":"error","summary":"no such file","content":[{"type":"text","text":"rm: x:\u001b gone\nbye"}]}`),
	}
	resolved := of(10, protocol.RecordKindResolved)
	resolved.Resolution = &protocol.RecordResolution{By: "ada"}
	allowed, doubted, dropped := of(7, protocol.RecordKindAsked), of(8, protocol.RecordKindDoubted), of(9, protocol.RecordKindPruned)
	allowed.Ask = &protocol.RecordAsk{Verdict: protocol.VerdictAllow, Args: json.RawMessage(`{ "path": "x" }`)}
	doubted.Note, doubted.End = "begun in record 4, and never ended", &protocol.RecordEnd{
		Status:  tool.Failure,
		Error:   tool.InDoubt,
		Summary: "it may or may not have happened",
	}
	dropped.Principal, dropped.Tool, dropped.Name = nil, "", ""
	dropped.Summary = &protocol.RecordPruned{FirstSeq: 1, LastSeq: 5}
	return []protocol.Record{opened, asked, answered, begun, noted, end, allowed, doubted, dropped, resolved}
}
