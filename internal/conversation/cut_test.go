package conversation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
)

// gitFolder makes a repository of a folder: three commits, three changed files, one of
// them long, and two branches.
func gitFolder(t *testing.T, folder string) {
	t.Helper()
	run := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %v: %v: %s", args, err, out)
		}
	}
	run("init", "-q", "-b", "main")
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		write(t, filepath.Join(folder, "repo", name), strings.Repeat("an old line of it\n", 100))
		run("add", "repo")
		run("commit", "-q", "-m", "add "+name)
	}
	run("branch", "other")
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		write(t, filepath.Join(folder, "repo", name), strings.Repeat("a new line of it\n", 200))
	}
}

// pages serves a page and a failure, both long.
func pages(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/fail" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write([]byte(strings.Repeat("a line of the page\n", 5000)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Whatever tool gives a part only, the last line that its model reads says so, says of
// how much where that is known, and says how to get the rest: over the wire of a
// provider, in both forms.
func TestModelIsToldWhatEveryToolCut(t *testing.T) {
	t.Parallel()
	url := pages(t)
	cases := []struct{ call, want string }{
		{`filesystem__read {"path":"long.txt"}`, `^\[lines 1–2000 of 2500; continue with offset=2001\]$`},
		{`filesystem__grep {"pattern":"number"}`, `^\[the first 200 matches; there are more: continue with offset=200, or `},
		{`filesystem__glob {"pattern":"many/*"}`, `^\[the first \d+ matches; there are more: continue with offset=\d+, or `},
		{`filesystem__list {"path":"many"}`, `^\[the first \d+ entries; there are more: continue with offset=\d+, or `},
		{`git__log {"limit":2}`, `^\[the first 2 commits; there are more: continue with skip=2\]$`},
		{`git__diff {}`, `^\[file 1 of 3; continue with skip=1, or name paths\]$`},
		{`git__diff {"paths":["repo/c.txt"]}`, `^\[file 1 of 1; the end of the last one is left out; `},
		{`git__show {"path":"repo/a.txt"}`, `^\[bytes 1–\d+ of 1800\]$`},
		{`git__blame {"path":"repo/a.txt","rev":"HEAD","limit":3}`, `^\[the first 3 lines; there are more: continue with start=4\]$`},
		{`git__status {"limit":1}`, `^\[file 1 of \d+; give paths, or raise limit\]$`},
		{`git__branches {"limit":1}`, `^\[the first branch; there are more: raise limit\]$`},
		{`database__fetch_results {"query":"SELECT * FROM t ORDER BY 1","limit":2}`,
			`^\[the first 2 rows; there are more: continue with offset=2, or ask for less\]$`},
		{`database__execute_query {"query":"INSERT INTO t SELECT 'more '||a FROM t RETURNING a","limit":2}`,
			`^\[the first 2 rows; there are more: they were changed too; read them with SELECT\]$`},
		{`database__search_data {"text":"row","limit":2}`, `^\[the first 2 matches; there are more: raise limit, or `},
		{`memory__query {"mode":"range","limit":1}`, `^\[entry 1 of 3; continue with offset=1\]$`},
		{`web__fetch {"url":"` + url + `/page"}`, `^\[characters 1–\d+ of 95000; continue with offset=\d+\]$`},
		{`http__get {"url":"` + url + `/page","max_bytes":500}`, `^\[the first 500 bytes; there are more: raise max_bytes\]$`},
		{`http__get {"url":"` + url + `/fail"}`, `^\[bytes 1–\d+ of 95000\]$`},
		{`shell__bash {"command":"seq 100000"}`, `continue with artifact__read ref=\S+ offset=\d+\]$`},
		{`mcp_hub__long {"n":1}`, `^\[lines 1–\d+ of 5000; continue with artifact__read ref=\S+ offset=\d+\]$`},
	}
	for _, provider := range [][2]string{{"openai", "gpt-4o"}, {"anthropic", "claude-sonnet-4-5"}} {
		t.Run(provider[0], func(t *testing.T) {
			t.Parallel()
			model := kerneltest.NewModel(t)
			hub := kerneltest.NewServer(t, "hub", map[string]string{"long": "Says much."})
			host := strings.TrimPrefix(url, "http://")
			folder := kerneltest.AppWithServers(t, "    shell: {}\n    memory: {}\n    database: {}\n    git: {config: {max_bytes: 1024}}\n"+
				"    http: {constraints: {private_hosts: [\""+host+"\"]}}\n"+
				"    web: {config: {robots: false}, constraints: {private_hosts: [\""+host+"\"]}}\n"+
				"  capabilities: {default_policy: auto}\nruntime: {tool_injection: direct}\n"+
				"agents: [{id: main, brain: "+model.Brain(provider[0], provider[1])+"}]\n", hub)
			gitFolder(t, folder)
			var long strings.Builder
			for i := range 2500 {
				fmt.Fprintf(&long, "line number %d\n", i+1)
			}
			write(t, filepath.Join(folder, "long.txt"), long.String())
			for i := range 1200 {
				write(t, filepath.Join(folder, "many", fmt.Sprintf("f%04d", i)), "")
			}
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			s, err := k.OpenSession(t.Context(), session.Spec{Workspace: folder})
			ok(t, err)
			kerneltest.AcceptApp(t, k, s)
			kerneltest.AcceptServers(t, k, s)
			talk := kerneltest.OpenConversation(t, k, folder)
			say := func(calls ...string) {
				t.Helper()
				model.Play(kerneltest.Answer{Calls: calls}, kerneltest.Answer{Text: "ok"})
				if end := kerneltest.Send(t, talk, "go"); end.Reason != history.Done {
					t.Fatalf("%+v", end)
				}
			}
			say(`database__connect {"driver":"sqlite","database":"data.db"}`)
			say(`database__execute_query {"query":"CREATE TABLE t AS SELECT 'row one' a UNION SELECT 'row two' UNION SELECT 'row three'"}`,
				`memory__remember {"content":"one"}`, `memory__remember {"content":"two"}`, `memory__remember {"content":"three"}`)
			for _, c := range cases {
				say(c.call)
				said := lastResult(t, model)
				if line := strings.TrimSuffix(lastLine(said), "\n"); !regexp.MustCompile(c.want).MatchString(line) {
					t.Errorf("%s ends with %.300q, want %s", c.call, line, c.want)
				}
			}
		})
	}
}

// lastResult is what the model was told of its last call, in either form.
func lastResult(t *testing.T, m *kerneltest.Model) (said string) {
	t.Helper()
	var request struct {
		Messages []struct{ Content json.RawMessage }
	}
	ok(t, json.Unmarshal([]byte(m.Last()), &request))
	for _, message := range request.Messages {
		var blocks []struct {
			Type    string
			Content []struct{ Text string }
		}
		if json.Unmarshal(message.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			for _, c := range b.Content {
				said = c.Text
			}
		}
	}
	if said == "" {
		return lastTold(t, m)
	}
	return said
}
