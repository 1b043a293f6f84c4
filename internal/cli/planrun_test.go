package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/cli"
	"callgate/internal/cli/command"
)

// shownTool is a tool as a command or a request shows it.
type shownTool struct {
	Name, Description string
	Parameters        any
}

// request is what a provider got, in either form.
type request struct {
	system string
	tools  []shownTool
}

// readRequest reads a request of either form.
func readRequest(t *testing.T, body []byte) request {
	t.Helper()
	var raw struct {
		System []struct{ Text string }
		Tools  []struct {
			Name, Description string
			InputSchema       any `json:"input_schema"`
			Function          *shownTool
		}
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		t.Fatal(err)
	}
	var r request
	for _, tool := range raw.Tools {
		if tool.Function != nil {
			r.tools = append(r.tools, *tool.Function)
			continue
		}
		r.tools = append(r.tools, shownTool{tool.Name, tool.Description, tool.InputSchema})
	}
	if len(raw.System) > 0 {
		r.system = raw.System[0].Text
	} else if err := json.Unmarshal(raw.Messages[0].Content, &r.system); err != nil || raw.Messages[0].Role != "system" {
		t.Fatalf("no system text (%v): %s", err, body)
	}
	return r
}

// fakeProvider answers every request in the form it came in, and keeps the last one. One
// without tools refuses those that carry any.
func fakeProvider(t *testing.T, last *[]byte, withoutTools bool) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last, _ = io.ReadAll(r.Body)
		if withoutTools && bytes.Contains(*last, []byte(`"tools":[`)) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		answer := "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
		if strings.HasSuffix(r.URL.Path, "/messages") {
			answer = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\n" +
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hello\"}}\n\n" +
				"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n" +
				"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// plan, app plan, surface and app prompt say to the byte what run sends.
func TestPlanIsWhatRunSends(t *testing.T) {
	t.Parallel()
	const direct = "runtime: {tool_injection: direct}\n"
	openai, claude := "provider: openai, model: gpt-4o", "provider: anthropic, model: claude-sonnet-4-5"
	for name, c := range map[string]struct {
		brain, rest string
		mode        string
		window      int
		text        bool
		asked       bool // an earlier conversation asked the server
	}{
		"direct, openai":           {brain: openai, rest: direct, mode: "direct", window: 128_000},
		"direct, anthropic":        {brain: claude, mode: "direct", window: 200_000},
		"compact, openai":          {brain: openai, rest: "runtime: {tool_injection: compact_direct}\n", mode: "compact_direct", window: 128_000},
		"discovery by mode":        {brain: claude, rest: "runtime: {tool_injection: discovery}\n", mode: "discovery", window: 200_000},
		"the app's window":         {brain: openai, rest: "runtime: {context: {max_tokens: 9000}}\n", mode: "discovery", window: 9000},
		"the brain's window":       {brain: openai + ", context: {max_tokens: 9000}", rest: "runtime: {context: {max_tokens: 90000}}\n", mode: "discovery", window: 9000},
		"a model nobody knows":     {brain: "provider: custom, backend: openai_compat, model: nobody-knows, native_tool_use: true", mode: "discovery", window: 8000},
		"text, direct":             {brain: openai + ", native_tool_use: false", rest: direct, mode: "direct", window: 128_000, text: true},
		"text, compact":            {brain: openai + ", native_tool_use: false", rest: "runtime: {tool_injection: compact_direct}\n", mode: "compact_direct", window: 128_000, text: true},
		"text, discovery":          {brain: openai + ", native_tool_use: false", rest: "runtime: {tool_injection: discovery}\n", mode: "discovery", window: 128_000, text: true},
		"a server, asked":          {brain: "provider: vllm, model: m", rest: direct, mode: "direct", window: 8000, asked: true},
		"a server that takes none": {brain: "provider: llamacpp, model: m", rest: direct, mode: "direct", window: 8000, asked: true, text: true},
		"few tools":                {brain: claude, rest: "tools: {modules: {filesystem: {}}}\n", mode: "direct", window: 200_000},
		"a server that nobody accepted": {brain: claude, rest: "tools: {modules: {filesystem: {}, mcp: {config: {servers: {hub: {command: hub-of-nobody}}}}}}\n",
			mode: "direct", window: 200_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var last []byte
			url := fakeProvider(t, &last, c.text)
			home, folder, state := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "s")
			// The user's own file needs no consent.
			write := func(path, text string) {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(filepath.Join(home, ".config", "callgate", "callgate.yaml"), "agents: [{id: main, system_prompt: Be brief., brain: {"+c.brain+
				", config: {base_url: \""+url+"\", api_key: k}}}]\n"+c.rest)
			write(filepath.Join(folder, "AGENTS.md"), "The project's rule.\n")
			write(filepath.Join(folder, ".git", "HEAD"), "ref: refs/heads/main\n")
			run := func(args ...string) string {
				t.Helper()
				var out, errs bytes.Buffer
				env := map[string]string{"CALLGATE_STATE": state, "HOME": home}
				code := cli.Run(context.WithoutCancel(t.Context()), command.Host{
					Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: folder,
					Getenv: func(name string) string { return env[name] },
				}, args)
				if code != 0 {
					t.Fatalf("%v: exit code %d: %s%s", args, code, out.String(), errs.String())
				}
				return out.String()
			}
			if c.asked {
				if before := run("plan"); !strings.Contains(before, "tools      written into its prompt: "+url+" was not asked yet; the first conversation asks\n") {
					t.Errorf("before the first conversation: %s", before)
				}
				run("run", "-q", "-p", "hi")
				if after := run("plan"); !strings.Contains(after, url+" said it takes ") {
					t.Errorf("after the first conversation: %s", after)
				}
			}
			plan := run("plan", "--json")
			if other := run("app", "plan", "--json"); other != plan {
				t.Errorf("app plan: %s", cmp.Diff(plan, other))
			}
			var surface []shownTool
			decode(t, run("surface"), &surface)
			var prompt struct {
				Text  string
				Note  string
				Tools []struct {
					Name, Description string
					Schema            any
				}
			}
			decode(t, run("app", "prompt", "--json"), &prompt)
			if printed := run("app", "prompt"); printed != prompt.Text+"\n" {
				t.Errorf("app prompt prints %q", printed)
			}
			run("run", "-q", "-p", "hi")
			got := readRequest(t, last)

			if diff := cmp.Diff(got.system, prompt.Text); diff != "" {
				t.Errorf("app prompt (-run +app prompt):\n%s", diff)
			}
			var planned struct {
				Mode   string
				Window int
				Native bool `json:"native_tools"`
				Shown  []shownTool
			}
			decode(t, plan, &planned)
			if planned.Mode != c.mode || planned.Window != c.window || planned.Native == c.text {
				t.Errorf("plan says %s, a window of %d, native %v", planned.Mode, planned.Window, planned.Native)
			}
			if diff := cmp.Diff(planned.Shown, surface); diff != "" {
				t.Errorf("surface (-plan +surface):\n%s", diff)
			}
			if c.text {
				if len(got.tools) > 0 || len(prompt.Tools) > 0 {
					t.Error("a model that takes no tools is given some")
				}
				for _, tool := range surface {
					if !strings.Contains(got.system, "\n## "+tool.Name+"\n"+strings.TrimSpace(tool.Description)+"\nparameters: {") {
						t.Errorf("%s does not stand in the text", tool.Name)
					}
				}
				return
			}
			if diff := cmp.Diff(got.tools, surface); diff != "" {
				t.Errorf("surface (-run +surface):\n%s", diff)
			}
			for i, tool := range prompt.Tools {
				if shown := (shownTool{tool.Name, tool.Description, tool.Schema}); !cmp.Equal(shown, got.tools[i]) {
					t.Errorf("app prompt has %+v", shown)
				}
			}
		})
	}
}

func decode(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
