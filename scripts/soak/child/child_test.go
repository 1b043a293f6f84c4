package child

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The server's effects are in its ledger before they are answered, and half a line,
// which a kill may leave, is not read.
func TestLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledger := filepath.Join(dir, "ledger")
	var out strings.Builder
	s := &Server{Folder: dir, Ledger: ledger}
	f, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"put","arguments":{"file":"f","id":"A1"}}}`,
		`{"id":2,"method":"tools/call","params":{"name":"append","arguments":{"id":"A2"}}}`,
		`{"id":3,"method":"tools/call","params":{"name":"get","arguments":{"file":"f"}}}`,
		`{"id":4,"method":"nonsense"}`,
	} {
		var r request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		s.answer(&out, r, f)
	}
	if _, err := f.WriteString(`{"at":1,"id":"ha`); err != nil {
		t.Fatal(err)
	}
	lines, offset, err := ReadLedger(ledger, 0)
	if err != nil || len(lines) != 2 || lines[0].ID != "A1" || lines[0].File != "f" || lines[1] != (Line{At: lines[1].At, ID: "A2"}) {
		t.Errorf("the ledger has %+v, %v", lines, err)
	}
	if more, _, err := ReadLedger(ledger, offset); err != nil || len(more) > 0 {
		t.Errorf("after its end the ledger has %+v, %v", more, err)
	}
	for _, want := range []string{`"id":1`, `"text":"A1\n"`, `"code":-32601`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the answers lack %s: %s", want, &out)
		}
	}
}

// A model proposes the calls of its plan in one answer, and notes what came back.
func TestModel(t *testing.T) {
	t.Parallel()
	plan := Plan{ID: "P1", Calls: []PlanCall{{Tool: "a", Args: map[string]any{"n": 1}}, {Tool: "b"}}}
	user := map[string]any{"role": "user", "content": "do " + plan.Prompt() + " now"}
	var log strings.Builder
	ask := func(messages ...any) string {
		body, err := json.Marshal(map[string]any{"messages": messages})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		(&Model{Log: &log}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(string(body))))
		return w.Body.String()
	}
	if got := ask(user); !strings.Contains(got, `"P1_0"`) || !strings.Contains(got, `"P1_1"`) || log.Len() > 0 {
		t.Errorf("the model proposes %s and notes %q", got, &log)
	}
	second := map[string]any{"role": "tool", "tool_call_id": "P1_1", "content": []any{map[string]any{"text": "two"}}}
	first := map[string]any{"role": "tool", "tool_call_id": "P1_0", "content": "one"}
	if got := ask(user, second, first); !strings.Contains(got, "done") || log.String() != `{"id":"P1","conversation":"P1","results":["one","two"],"notes":null}`+"\n" {
		t.Errorf("the model says %s and notes %q", got, &log)
	}
	log.Reset()
	news := map[string]any{"role": "user", "content": "<note>\nTASK t1 (x T001-0000001) ENDED, x T001-0000001\n</note>"}
	ask(user, second, news, first, news)
	if want := `"notes":[{"id":"T001-0000001"},{"id":"T001-0000001"}]`; !strings.Contains(log.String(), want) {
		t.Errorf("of notes the model notes %q", &log)
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"PLAN{\"id\":\"P\",\"calls\":[{\"tool\":\"a\"}]}END"},` +
		`{"role":"tool","tool_call_id":"P_-1","content":"x"}]}`))
	f.Fuzz(func(_ *testing.T, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
		(&Model{Log: &strings.Builder{}}).ServeHTTP(httptest.NewRecorder(), r)
	})
}
