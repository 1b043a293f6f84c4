package mcpserver_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/agent/surface"
	"callgate/internal/kernel"
)

// profiles are those of the apps of these tests.
const profiles = `    approve: [{module: demo, actions: [wipe]}]
profiles:
  review: {servers: [one], actions: [demo.add, filesystem.read], surface: direct}
  tools: {servers: [one], actions: [mcp_one.echo], surface: discovery}
  danger: {actions: [demo.wipe]}
  files: {modules: [filesystem], surface: direct}
`

// addProfiles gives the app two servers and profiles.
func (s *fixture) addProfiles(t testing.TB) {
	t.Helper()
	s.addServers(t, profiles, "one: {env: {"+serverVar+": yes}}", "two: {env: {"+serverVar+": yes}}")
}

func names(t testing.TB, c *sdk.ClientSession) []string {
	t.Helper()
	var all []string
	for _, one := range toolList(t, c) {
		all = append(all, one.Name)
	}
	return all
}

// TestProfileGivesOnlyWhatItNames: a client with a profile finds nothing else, in
// whatever way it looks for it.
func TestProfileGivesOnlyWhatItNames(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addProfiles(t)
	s.opt.Session.Profile = "review"
	each(t, func(t *testing.T, w way) {
		c := s.connect(t, w, "claude-code", nil)
		shown := names(t, c)
		for name, want := range map[string]bool{
			"mcp_one__echo": true, "demo__add": true, "filesystem__read": true, "mcp_two__echo": false, "demo__wipe": false,
			"filesystem__write": false, "shell__bash": false,
		} {
			if slices.Contains(shown, name) != want {
				t.Errorf("%s is shown: %v, in %v", name, !want, shown)
			}
		}
		if _, said := call(t, c, "mcp_one.echo", `{"text":"again"}`); !strings.HasPrefix(said, "again") {
			t.Errorf("echo says %q", said)
		}
		for name, args := range map[string]string{
			"mcp_two.echo": `{"text":"x"}`, "demo.wipe": `{"what":"x"}`, "filesystem.write": `{"path":"x","content":"x"}`,
			"shell.bash": `{"command":"true"}`, "mcp_two.resources": `{"uri":"notes:///today?full=1"}`,
		} {
			if _, said := call(t, c, name, args); !strings.Contains(said, "there is no tool") {
				t.Errorf("%s says %s", name, said)
			}
			through := `{"name":"` + name + `","params":` + args + `}`
			if _, said := call(t, c, "execute_tool", through); !strings.Contains(said, "there is no tool") {
				t.Errorf("through execute_tool %s says %s", name, said)
			}
			if res, said := call(t, c, "get_tool", `{"name":"`+name+`"}`); !res.IsError || strings.Contains(said, "parameters") {
				t.Errorf("get_tool %s says %s", name, said)
			}
		}
		for name, args := range map[string]string{
			"search_tools": `{"query":"say it again, echo","limit":20}`, "list_categories": `{}`,
			"browse_category": `{"name":"mcp_two"}`,
		} {
			if _, said := call(t, c, name, args); strings.Contains(said, "mcp_two.") || strings.Contains(said, "demo.wipe") ||
				name != "browse_category" && (strings.Contains(said, "mcp_two") || !strings.Contains(said, "mcp_one")) {
				t.Errorf("%s says %s", name, said)
			}
		}
		checkItems(t, c)
		if says := c.InitializeResult().Instructions; !containsAll(says, "the MCP servers one", "profile review") ||
			strings.Contains(says, "two") {
			t.Errorf("the instructions are %s", says)
		}
	})
	if s.wiped.Load() != 0 {
		t.Error("it was wiped")
	}
}

// checkItems reads the resources and prompts of one server, and misses those of the
// other.
func checkItems(t testing.TB, c *sdk.ClientSession) {
	t.Helper()
	resources, err := c.ListResources(t.Context(), nil)
	ok(t, err)
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	ok(t, err)
	prompts, err := c.ListPrompts(t.Context(), nil)
	ok(t, err)
	var all []string
	for _, r := range resources.Resources {
		all = append(all, r.URI)
	}
	for _, r := range templates.ResourceTemplates {
		all = append(all, r.URITemplate)
	}
	for _, p := range prompts.Prompts {
		all = append(all, p.Name)
	}
	text := strings.Join(all, " ")
	if strings.Contains(text, "two") || !containsAll(text, "mcp/one/notes:///today", "mcp/one/notes:///{day}", "one__greet") {
		t.Errorf("items: %s", text)
	}
	const today = "/notes:///today?full=1"
	_, err = c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "callgate://mcp/one" + today})
	ok(t, err)
	if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "callgate://mcp/two" + today}); err == nil {
		t.Error("a resource of the other server is read")
	}
	if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "two__greet"}); err == nil {
		t.Error("a prompt of the other server is filled in")
	}
}

// TestProfileOfActions gives a server's tool without what else the server has, and
// shows it as the profile says.
func TestProfileOfActions(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addProfiles(t)
	s.opt.Session.Profile = "tools"
	each(t, func(t *testing.T, w way) {
		c := s.connect(t, w, "tester", nil)
		if shown := names(t, c); slices.Contains(shown, "mcp_one__echo") || !slices.Contains(shown, "execute_tool") {
			t.Errorf("discovery shows %v", shown)
		}
		if _, said := call(t, c, "execute_tool", `{"name":"mcp_one.echo","params":{"text":"again"}}`); !strings.Contains(said, "again") {
			t.Errorf("echo says %q", said)
		}
		if _, said := call(t, c, "mcp_one.ask", `{}`); !strings.Contains(said, "there is no tool") {
			t.Errorf("ask says %s", said)
		}
		prompts, err := c.ListPrompts(t.Context(), nil)
		ok(t, err)
		if len(prompts.Prompts) > 0 {
			t.Errorf("prompts %v", prompts.Prompts)
		}
		if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "callgate://mcp/one/notes:///monday"}); err == nil {
			t.Error("a resource is read")
		}
	})
}

// TestProfileAndBuiltin: what a profile names is meant, also for a coding agent, and
// gives nothing that the app keeps from clients.
func TestProfileAndBuiltin(t *testing.T) {
	t.Parallel()
	const profile = "profiles: {a: {modules: [shell, filesystem], surface: direct}}\n"
	for _, c := range []struct {
		app, flag, want string
	}{
		{"", "", "filesystem__read shell__bash"},
		{"tools: {builtin: none}\n", "", ""},
		{"tools: {builtin: [shell]}\n", "", "shell__bash"},
		{"tools: {modules: {shell: }}\n", "", "shell__bash"},
		{"tools: {capabilities: {hidden_modules: [shell]}}\n", "", "filesystem__read"},
		{"", "none", ""},
	} {
		s := newFixture(t, kernel.Config{})
		ok(t, os.WriteFile(filepath.Join(s.opt.Session.Workspace, "callgate.yaml"), []byte(c.app+profile), 0o600))
		s.opt.Session.Profile, s.opt.Builtin = "a", surface.Builtin{Choice: c.flag}
		shown := names(t, s.connect(t, ways[1], "claude-code", nil))
		for _, name := range []string{"filesystem__read", "shell__bash"} {
			if slices.Contains(shown, name) != strings.Contains(c.want, name) {
				t.Errorf("%s %s: %s in %v", c.app, c.flag, name, shown)
			}
		}
	}
}

// TestProfileTellsNothingElse: what the app's user is warned of tells of the whole
// app, and is not for a client with a profile.
func TestProfileTellsNothingElse(t *testing.T) {
	t.Parallel()
	s := newFixture(t, kernel.Config{})
	const app = "tools: {modules: {filesystem: , mcp: {config: {servers: {hushed: {command: x}}}}}}\n" +
		"profiles: {files: {modules: [filesystem]}}\n"
	ok(t, os.WriteFile(filepath.Join(s.opt.Session.Workspace, "callgate.yaml"), []byte(app), 0o600))
	for profile, want := range map[string]bool{"": true, "files": false} {
		s.opt.Session.Profile = profile
		says := s.connect(t, ways[0], "tester", nil).InitializeResult().Instructions
		if strings.Contains(says, "hushed") != want || strings.Contains(says, "waits for its user") == want {
			t.Errorf("%q is told: %s", profile, says)
		}
	}
}

// TestUnknownProfile: the client is told which profiles there are.
func TestUnknownProfile(t *testing.T) {
	t.Parallel()
	s := newFixture(t, kernel.Config{})
	s.addProfiles(t)
	s.opt.Session.Profile = "reviews"
	for _, version := range []string{old, ""} {
		ours, theirs := net.Pipe()
		s.serves.Go(func() { _ = s.server.Serve(context.Background(), theirs, s.opt) })
		_, err := dial(t, ours, version)
		const want = "there is no profile \"reviews\" here (did you mean review? the profiles are danger, files, review, tools)"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
		_ = ours.Close()
	}
}

// TestResultsStayInTheirProfile: what one client left waiting is not collected by
// another that calls itself the same and has another profile.
func TestResultsStayInTheirProfile(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addProfiles(t)
	s.opt.Session.Profile = "danger"
	c := s.connect(t, ways[0], "tester", nil)
	if _, said := call(t, c, "demo.wipe", `{"what":"disk"}`); !strings.Contains(said, "waiting for approval") {
		t.Fatalf("said %s", said)
	}
	id := s.pending(t)[0].ID
	ok(t, c.Close())
	eventually(t, "the end of the session", func() bool { return s.kernel.Sessions.Len() == 0 })
	s.approve(t, id)
	eventually(t, "the end of the call", func() bool { return s.wiped.Load() == 1 })
	for profile, want := range map[string]bool{"files": false, "danger": true} {
		s.opt.Session.Profile = profile
		c := s.connect(t, ways[0], "tester", nil)
		if _, said := call(t, c, "approvals.collect", `{"approval":"`+id+`"}`); strings.Contains(said, "disk") != want {
			t.Errorf("%s is told: %s", profile, said)
		}
		ok(t, c.Close())
		eventually(t, "the end of the session", func() bool { return s.kernel.Sessions.Len() == 0 })
	}
}
