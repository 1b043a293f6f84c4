package toolview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/search"
	"callgate/tool"
)

// guarded is an app in which a module is denied, another hidden, and an action
// blocked.
const guarded = `
tools:
  modules:
    filesystem: {constraints: {blocked_actions: [delete]}}
  capabilities:
    default_policy: auto
    deny: [{module: vault, reason: not for models}]
    hidden_modules: [attic]
`

// TestWhatIsDeniedDoesNotExist looks for denied and hidden tools by every way
// there is to find one.
func TestWhatIsDeniedDoesNotExist(t *testing.T) {
	t.Parallel()
	var extra []*tool.Tool
	for _, name := range []string{"vault.open_treasure", "attic.open_treasure", "garden.open_gate"} {
		x, err := tool.Func(
			name,
			"Open the treasure chest of gold.",
			tool.Runtime{Risk: tool.Low, SideEffect: tool.Read},
			func(context.Context, struct{}) (string, error) { return "open", nil },
		)
		if err != nil {
			t.Fatal(err)
		}
		extra = append(extra, x)
	}
	k := kerneltest.Open(t, kerneltest.StateDir(t), extra...)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), guarded)
	s := kerneltest.OpenAccepted(t, k, folder)
	calls := []string{
		"search_tools", `{"query":"open the treasure chest of gold","max_results":20,"detail":true}`,
		"search_tools", `{"query":"vault.open_treasure"}`,
		"search_tools", `{"query":"delete a file","max_results":20}`,
		"list_categories", `{}`,
		"browse_category", `{"category":"vault"}`,
		"browse_category", `{"category":"attic"}`,
		"browse_category", `{"category":"filesystem"}`,
		"get_tool", `{"name":"vault.open_treasure"}`,
		"get_tool", `{"name":"attic.open_treasur"}`,
		"get_tool", `{"name":"open_treasure"}`,
		"get_tool", `{"name":"filesystem.delete"}`,
		"execute_tool", `{"name":"attic.open_treasure"}`,
		"attic__open_treasure", `{}`,
	}
	for i := 0; i < len(calls); i += 2 {
		r := s.Call(t.Context(), session.CallRequest{Name: calls[i], Args: json.RawMessage(calls[i+1])})
		text, _ := json.Marshal(r)
		said := strings.ReplaceAll(string(text), jsonEscaped(calls[i+1]), "") // what was asked may be quoted back
		for _, asked := range []string{"vault.open_treasure", "attic.open_treasure", "attic.open_treasur", "attic__open_treasure", "open_treasure", `\"vault\"`, `\"attic\"`, `\"filesystem.delete\"`} {
			if strings.Contains(calls[i]+calls[i+1], strings.Trim(asked, `\"`)) {
				said = strings.ReplaceAll(said, asked, "")
			}
		}
		for _, word := range []string{"vault", "attic", "filesystem.delete", "not for models"} {
			if strings.Contains(said, word) {
				t.Errorf("%s %s tells of %s: %s", calls[i], calls[i+1], word, text)
			}
		}
	}
	// A caller that knows the name of a denied tool learns that it is denied, and why.
	for name, args := range map[string]string{
		"vault.open_treasure": `{}`, "vault_open_treasure": `{}`, "execute_tool": `{"name":"vault.open_treasure"}`,
	} {
		r := s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args)})
		if r.Status != tool.Refused || !strings.Contains(r.Summary, "not for models") {
			t.Errorf("a denied tool called by %s %s: %+v", name, args, r)
		}
	}
	found, err := s.View().Search(t.Context(), search.Request{Queries: []string{"open the treasure chest"}, Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Answers[0].Hits {
		if m := h.Tool.ID.Namespace; m == "vault" || m == "attic" || m == "context_builder" {
			t.Errorf("search finds %s", h.Tool.ID)
		}
	}
	for _, mode := range []string{"direct", "compact_direct", "discovery"} {
		plan, err := s.View().Surface(t.Context(), toolview.SurfaceConfig{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(plan); strings.Contains(string(text), "vault") || strings.Contains(string(text), "attic") {
			t.Errorf("the surface in mode %s tells of what is denied", mode)
		}
	}
}

// TestRequestsOfAnAppFindItsTools searches in an app that says what people say, and in one that
// does not, by one kernel: an app's requests are its own, and find nothing that is denied.
func TestRequestsOfAnAppFindItsTools(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	const query = "give the thing with the seven seals a look"
	find := func(file string) search.Hit {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "callgate.yaml"), file)
		found, err := kerneltest.OpenAccepted(t, k, folder).View().Search(t.Context(), search.Request{Queries: []string{query}})
		ok(t, err)
		return found.Answers[0].Hits[0]
	}
	const requests = "search:\n  requests: {filesystem.read: [look at the thing with seven seals]}\n"
	if h := find(requests); h.Tool.ID.Dotted() != "filesystem.read" || h.Like != "look at the thing with seven seals" {
		t.Errorf("%s is found, like %q", h.Tool.ID, h.Like)
	}
	for name, file := range map[string]string{
		"another app": "app: {name: other}\n",
		"a rule":      requests + "tools: {capabilities: {deny: [{module: filesystem, actions: [read]}]}}\n",
	} {
		if h := find(file); h.Tool.ID.Dotted() == "filesystem.read" || h.Like == "look at the thing with seven seals" {
			t.Errorf("%s: %s is found, like %q", name, h.Tool.ID, h.Like)
		}
	}
}

func jsonEscaped(s string) string {
	text, _ := json.Marshal(s)
	return strings.Trim(string(text), `"`)
}

// TestExecuteToolGoesThroughTheGate calls a tool through another: it is judged
// as itself, has a record of its own, and its record names its parent.
func TestExecuteToolGoesThroughTheGate(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "hello")
	s := kerneltest.OpenAccepted(t, k, folder)
	r := s.Call(
		t.Context(),
		session.CallRequest{Name: "execute_tool", Args: json.RawMessage(`{"name":"Read","params":"{\"path\":\"a.txt\"}"}`)},
	)
	if r.Status != tool.Success || !strings.Contains(fmt.Sprint(r.Content, string(r.Data)), "hello") {
		t.Fatalf("got %+v", r)
	}
	if err := k.Journal.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call})
	if err != nil || len(records) == 0 {
		t.Fatalf("%v, %v", records, err)
	}
	last := records[len(records)-1]
	if !strings.HasPrefix(last.Tool, "filesystem:read@") {
		t.Errorf("the answer's call is %s", last.Tool)
	}
	bad := s.Call(
		t.Context(),
		session.CallRequest{Name: "execute_tool", Args: json.RawMessage(`{"name":"filesystem.read","params":{"pth":"a.txt"}}`)},
	)
	if text, _ := json.Marshal(bad); bad.Status != tool.Failure || !strings.Contains(string(text), "properties") {
		t.Errorf("wrong arguments do not come back with the schema: %s", text)
	}
	waiting := s.Call(t.Context(), session.CallRequest{Name: "filesystem.delete", Args: json.RawMessage(`{"path":"a.txt"}`), NoWait: true})
	if waiting.Status != tool.Waiting {
		t.Errorf("delete is %s", waiting.Status)
	}
}

// TestSurfaceStaysTheSame makes calls of all kinds, and registers more tools:
// what the model was shown at first it is shown to the end.
func TestSurfaceStaysTheSame(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenSession(t, k, t.TempDir())
	for _, mode := range []string{"", "direct", "compact_direct", "discovery"} {
		c := toolview.SurfaceConfig{Mode: mode, Window: 32000}
		before, err := s.View().Surface(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := json.Marshal(before.Shown)
		s.Call(t.Context(), session.CallRequest{Name: "search_tools", Args: json.RawMessage(`{"query":"read"}`)})
		s.Call(t.Context(), session.CallRequest{Name: "filesystem.list", Args: json.RawMessage(`{}`)})
		s.Call(t.Context(), session.CallRequest{Name: "no.such.tool", Args: json.RawMessage(`{}`)})
		x, err := tool.Func("late.comer"+mode, "Came later.", tool.Runtime{}, func(context.Context, struct{}) (string, error) { return "", nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Register("late"+mode, x); err != nil {
			t.Fatal(err)
		}
		after, err := s.View().Surface(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := json.Marshal(after.Shown); string(first) != string(second) {
			t.Errorf("mode %q: the tool array changed", mode)
		}
	}
	if _, err := s.View().Surface(t.Context(), toolview.SurfaceConfig{Mode: "loud"}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("an unknown mode: %v", err)
	}
}
