package watchers_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
)

// A file that changes is looked at at once, however seldom it is looked at otherwise.
func TestFilesPush(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, change, says string }{
		"a file":        {`"name":"filesystem.read","params":{"path":"in/log.txt"}`, "in/log.txt", "second"},
		"a folder":      {`"name":"filesystem.glob","params":{"pattern":"**/*.txt"}`, "in/new/one.txt", "one.txt"},
		"a new folder":  {`"name":"filesystem.list","params":{"path":"in"}`, "in/sub/x.txt", "sub"},
		"text in files": {`"name":"filesystem.grep","params":{"pattern":"changed","path":"in"}`, "in/deep/er/a.txt", "a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, rules)
			write(t, filepath.Join(p.folder, "in", "log.txt"), "first\n")
			id := p.start(t, `{`+c.args+`,"interval":3600}`)
			one := fmt.Sprintf(`{"watcher_id":%q}`, id)
			kerneltest.Eventually(t, func() bool { return p.call(t, "watch_status", one)["push"] == "changed files" })
			began := time.Now()
			write(t, filepath.Join(p.folder, c.change), "second changed\n")
			news := p.awaitNews(t, 1)
			contains(t, news[0], "the result changed", c.says)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if m := p.call(t, "watch_status", one)["metrics"].(map[string]any); m["pushed"].(float64) < 1 {
				t.Errorf("%v", m)
			}
		})
	}
}

// A resource of an MCP server is read again when the server says that it changed.
func TestResourcePush(t *testing.T) {
	t.Parallel()
	g := &gauge{value: 1}
	p := &place{Kernel: kerneltest.Open(t, kerneltest.StateDir(t), g.tools(t)...), gauge: g}
	hub := kerneltest.NewServer(t, "hub", map[string]string{"touch": "Changes the note."})
	p.folder = kerneltest.AppWithServers(t, "  capabilities: {default_policy: auto}\nruntime: {watchers: true}\n"+
		"agents: [{id: main, brain: {provider: offline}}]\n", hub)
	kerneltest.AcceptServers(t, p.Kernel, kerneltest.OpenAccepted(t, p.Kernel, p.folder))
	p.talk = kerneltest.OpenConversation(t, p.Kernel, p.folder)
	id := p.start(t, `{"name":"mcp_hub.resources","params":{"uri":"test://note"},"interval":3600}`)
	one := fmt.Sprintf(`{"watcher_id":%q}`, id)
	kerneltest.Eventually(t, func() bool {
		return p.call(t, "watch_status", one)["push"] == "notifications of the MCP server"
	})
	r := p.in(t).Call(t.Context(), session.CallRequest{Name: "mcp_hub.touch", Args: json.RawMessage(`{}`)})
	ok(t, r.Err())
	contains(t, p.awaitNews(t, 1)[0], "the result changed", "touched 1 times")
}

// A watcher of the journal sees the calls of its app that others make.
func TestJournal(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	id := p.start(t, `{"name":"journal","params":{"tool":"demo.*","status":"error"},"interval":3600}`)
	other := kerneltest.OpenSession(t, p.Kernel, p.folder)
	elsewhere := kerneltest.OpenAccepted(t, p.Kernel, inFolder(t, rules))
	p.gauge.set(1, fmt.Errorf("broken"))
	refuses(t, p.in(t), "demo.gauge", `{}`) // its own calls it knows
	refuses(t, elsewhere, "demo.gauge", `{}`)
	refuses(t, other, "filesystem.read", `{"path":"missing"}`)
	p.gauge.set(1, nil)
	success(t, other, "demo.gauge", `{}`)
	p.gauge.set(1, fmt.Errorf("broken"))
	refuses(t, other, "demo.gauge", `{}`)
	news := p.awaitNews(t, 1)
	contains(t, news[0], "WATCHER UPDATE", id, "tool: journal", `"count":1`, "demo.gauge", other.ID())
	if strings.Contains(news[0], elsewhere.ID()) || strings.Contains(news[0], "filesystem") {
		t.Errorf("%s", news[0])
	}
}

// A watcher of the journal sees no calls of tools that its agent does not have.
func TestJournalOfAnAgentWithLess(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	limited, err := p.OpenSession(t.Context(), session.Spec{
		Workspace: p.folder, Only: map[string][]string{"filesystem": nil, "context_builder": nil},
	})
	ok(t, err)
	id := success(t, limited, "watch_start", `{"name":"journal","interval":3600,"notify_when":"every_check"}`)["watcher_id"]
	other := kerneltest.OpenSession(t, p.Kernel, p.folder)
	success(t, other, "demo.gauge", `{}`)
	success(t, other, "filesystem.read", `{"path":"callgate.yaml"}`)
	var history string
	kerneltest.Eventually(t, func() bool {
		history = fmt.Sprint(success(t, limited, "watch_history", fmt.Sprintf(`{"watcher_id":%q}`, id))["history"])
		return strings.Contains(history, "filesystem.read")
	})
	if strings.Contains(history, "demo.gauge") || strings.Contains(history, "watchers: true") {
		t.Error(history)
	}
}

// What follows is called once, with what the check gave.
func TestActions(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	p.start(t, `{"name":"demo.gauge","interval":1,"notify_config":{"expression":"result.n > 5"},"label":"tank",
		"actions":[{"name":"demo.note","params":{"text":"{{watcher.label}} is at {{result.n}}, was {{previous.n}}"}},
			{"name":"demo.note","params":{"txt":"wrong"}}]}`)
	p.gauge.set(9, nil)
	news := p.awaitNews(t, 2)
	contains(t, strings.Join(news, "\n"), "the condition is true now: result.n > 5", "WATCHER ACTION FAILED: demo.note", "text")
	kerneltest.Eventually(t, func() bool { return len(p.gauge.noted()) > 0 })
	had := p.gauge.checks()
	kerneltest.Eventually(t, func() bool { return p.gauge.checks() >= had+2 })
	if notes := p.gauge.noted(); len(notes) != 1 || notes[0] != "tank is at 9, was 1" {
		t.Errorf("%q", notes)
	}
}

// A watcher ends when its time is over.
func TestExpires(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	p.start(t, `{"name":"demo.gauge","interval":3600,"expires":1}`)
	news := p.awaitNews(t, 1)
	contains(t, news[0], "WATCHER COMPLETED: its time is over", `{"n":1}`)
	running(t, p.Kernel, 0)
}
