package hooks_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)

// free lets every tool run.
const free = "tools:\n  capabilities: {default_policy: auto, max_risk_level: high}\n"

// place is a kernel and a folder with an app file that a human accepted.
type place struct {
	*kernel.Kernel
	folder  string
	session *session.Session
}

// in opens a session in a folder with files; callgate.yaml is one of them.
func in(t testing.TB, k *kernel.Kernel, files map[string]string) *place {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	for name, text := range files {
		write(t, filepath.Join(folder, name), text)
	}
	return &place{k, folder, kerneltest.OpenAccepted(t, k, folder)}
}

// hooked is an app file that lets everything run, with hooks.
func hooked(lines ...string) map[string]string {
	return map[string]string{"callgate.yaml": free + "runtime:\n  hooks:\n  - " + strings.Join(lines, "\n    ") + "\n"}
}

func (p *place) call(t testing.TB, name, args string) *tool.Result {
	t.Helper()
	return p.session.Call(t.Context(), gate.CallRequest{Name: name, Args: json.RawMessage(args), NoWait: true})
}

// notes are the remarks on record about a call, or those about none.
func (p *place) notes(t testing.TB, call string) string {
	t.Helper()
	ok(t, p.Journal.Flush(t.Context()))
	records, err := p.Journal.Read(t.Context(), journal.Query{Call: call, Kind: journal.Noted})
	ok(t, err)
	var all []string
	for _, r := range records {
		if r.Call == call {
			all = append(all, r.Note)
		}
	}
	return strings.Join(all, "\n")
}

// pending are the requests that wait for a human.
func (p *place) pending(t testing.TB) []approval.Request {
	t.Helper()
	list, err := p.Approvals.List(t.Context(), approval.Pending, 0)
	ok(t, err)
	return list
}

func told(r *tool.Result) string { return strings.Join(r.Warnings, "\n") }
