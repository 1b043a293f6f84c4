package wire_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"callgate/internal/agent/surface"
	"callgate/internal/conversation/history"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/secrets"
	"callgate/internal/kernel/servers"
	"callgate/internal/protocol"
	"callgate/internal/protocol/protocoltest"
	"callgate/internal/secret"
	"callgate/internal/secret/scope"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/task"
)

// same checks that a body says in JSON what the kernel's type says: a field that
// was forgotten in the conversion is missing on one side.
func same[T, U any](t *testing.T, convert func(T) U) {
	t.Helper()
	var from T
	protocoltest.Fill(reflect.ValueOf(&from).Elem())
	want, err := json.MarshalIndent(from, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(convert(from), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%T becomes\n%s\nwant\n%s", from, got, want)
	}
}

// A task is shown whole, but for the process of its asker.
func TestTasksSayWhatTheKernelSays(t *testing.T) {
	t.Parallel()
	var from task.Task
	protocoltest.Fill(reflect.ValueOf(&from).Elem())
	got, err := json.MarshalIndent(wire.Task(from), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	a := from.Asker
	from.Asker = task.Asker{
		Principal: a.Principal, Workspace: a.Workspace, AppFile: a.AppFile, Call: a.Call,
		Profile: a.Profile, Only: a.Only, Off: a.Off,
	}
	want, err := json.MarshalIndent(from, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("a task becomes\n%s\nwant\n%s", got, want)
	}
}

// A secret says whose it is, and by the name that people know.
func TestSecretsSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	from := secrets.Info{
		Info:   secret.Info{Name: "hub_token", Source: "store", Set: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)},
		Scoped: secrets.Scoped{Ref: scope.Ref{Scope: scope.PerAppPerUser, App: "shop", Name: "hub_token"}, User: "ada"},
	}
	got, err := json.Marshal(wire.Secret(from))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"hub_token","source":"store","set":"2026-07-28T12:00:00Z","scope":"per_app_per_user",` +
		`"app":"shop","user":"ada"}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestBodiesSayWhatTheKernelSays(t *testing.T) {
	t.Parallel()
	same(t, wire.Approval)
	same(t, wire.Question)
	same(t, wire.Grant)
	same(t, wire.GrantSuggestion)
	same(t, wire.RulesReport)
	same(t, wire.Record)
	same(t, wire.Output)
	same(t, wire.VerifyReport)
	same(t, wire.Locks)
	same(t, wire.Token)
	same(t, func(p surface.Plan) *protocol.Surface { return wire.Surface(&p) })
	same(t, wire.ServerStatus)
	same(t, wire.ServerLogLine)
	same(t, wire.ConversationInfo)
	same(t, wire.HistoryEvent)
	same(t, wire.AgentCall)
	same(t, wire.HistoryEnd)
	same(t, wire.Compaction)
	same(t, wire.TaskEntry)
	same(t, wire.ModelUse)
}

func TestServer(t *testing.T) {
	t.Parallel()
	var s servers.Server
	protocoltest.Fill(reflect.ValueOf(&s).Elem())
	got := wire.Server(s)
	held := got.Held[0]
	if got.Name != s.Name || got.Module != s.Module || got.Launch != s.Launch || !got.Accepted ||
		held.Definition.Name != "text" || held.Before == nil || len(held.Findings) != 1 || held.Rejected == nil ||
		held.Hash != s.Held[0].Definition.Hash().String() {
		t.Errorf("%+v", got)
	}
	changed := s.Held[0]
	changed.Definition.Description = "another text"
	s.Held = []trust.Held{changed}
	if diff := wire.Server(s).Held[0].Diff; !strings.Contains(diff, "another") {
		t.Errorf("the difference is %q", diff)
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	hash := trust.Definition{Name: "x"}.Hash().String()
	w, err := wire.Word(protocol.Trust{
		Launch: "run", By: "ada", Accept: []protocol.DefinitionRef{{Name: "x", Hash: hash}},
		Reject: []protocol.DefinitionRef{{Name: "y", Hash: hash}},
	})
	if err != nil || w.Launch != "run" || w.By != "ada" || w.Accept[0].Hash.String() != hash || w.Reject[0].Name != "y" {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := wire.Word(protocol.Trust{Accept: []protocol.DefinitionRef{{Name: "x", Hash: "short"}}}); err == nil {
		t.Error("a reference without a hash was taken")
	}
}

// What both sides state as a number is the same number.
func TestConstantsAgree(t *testing.T) {
	t.Parallel()
	if protocol.MaxSecret != secret.MaxValue || protocol.MinScrubbed != secret.MinScrubbed ||
		protocol.MaxRecords != journal.MaxRows {
		t.Error("the protocol states other limits than the kernel has")
	}
	for _, pair := range [][2]string{
		{string(protocol.ApprovalUsed), string(approval.Used)}, {string(protocol.RecordKindPruned), string(journal.Dropped)},
		{string(protocol.EndStuck), string(history.Stuck)}, {string(protocol.HeldUnpinned), string(trust.Unpinned)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%q is not %q", pair[0], pair[1])
		}
	}
}
