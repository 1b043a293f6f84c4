package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/servers"
)

// serverVar has this program play an MCP server.
const serverVar = "MCPSERVER_TEST_ACTOR"

// offerVar names the file of what a server offers: see playOffer.
const offerVar = "MCPSERVER_TEST_OFFER"

func TestMain(m *testing.M) {
	switch os.Getenv(serverVar) {
	case "":
	case "rich":
		playRich()
		return
	case "offer":
		playOffer(os.Getenv(offerVar))
		return
	default:
		play()
		return
	}
	os.Exit(m.Run())
}

// play is an MCP server with one of everything.
func play() {
	s := sdk.NewServer(&sdk.Implementation{Name: "server", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again.", Annotations: readOnly},
		func(_ context.Context, _ *sdk.CallToolRequest, i in) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: i.Text}}}, nil, nil
		})
	ask := &sdk.ElicitParams{Message: "which?", RequestedSchema: json.RawMessage(oneField)}
	input := map[string]any{"type": "object"}
	s.AddTool(&sdk.Tool{Name: "ask", Description: "Asks.", InputSchema: input, Annotations: readOnly},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if len(r.Params.InputResponses) == 0 {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": ask}, RequestState: "s"}, nil
			}
			said := r.Params.InputResponses["q"].(*sdk.ElicitResult)
			return texted("%v %v", said.Action, said.Content["it"]), nil
		})
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return resourced(r.Params.URI, "this is "+r.Params.URI), nil
	}
	s.AddResource(&sdk.Resource{URI: "notes:///today?full=1", Name: "today"}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "notes:///{day}", Name: "day"}, read)
	greet := &sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}}
	s.AddPrompt(greet, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return prompted("greet " + r.Params.Arguments["who"]), nil
	})
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
}

// addServer adds an MCP server to the app, which a human has accepted.
func (s *fixture) addServer(t testing.TB) {
	s.addServers(t, "", "stage_one: {env: {"+serverVar+": yes}}")
}

// addServers adds MCP servers to the app, which a human has accepted, and more
// capabilities. This program is also the servers.
func (s *fixture) addServers(t testing.TB, capabilities string, declared ...string) {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	app := "tools:\n  modules:\n    filesystem:\n    mcp:\n      config:\n        servers:\n"
	for _, server := range declared {
		app += "          " + strings.Replace(server, "{", fmt.Sprintf("{command: %q, ", self), 1) + "\n"
	}
	app += "  capabilities:\n    default_policy: auto\n" + capabilities
	ok(t, os.WriteFile(filepath.Join(s.opt.Session.Workspace, "callgate.yaml"), []byte(app), 0o600))
	own, err := s.kernel.OpenSession(t.Context(), s.opt.Session)
	ok(t, err)
	defer own.Close()
	key, err := s.kernel.State().ReadHumanKey()
	ok(t, err)
	list, err := s.servers(own).List(t.Context())
	ok(t, err)
	for _, one := range list {
		who := approval.Credential{Key: key, PID: approval.Unknown}
		ok(t, s.kernel.AcceptServer(who, own, one.Name, servers.Word{Launch: one.Launch}))
		server, err := s.servers(own).Get(one.Name)
		ok(t, err)
		ok(t, server.Refresh(t.Context()))
	}
	_, err = s.servers(own).List(t.Context())
	ok(t, err)
}

func TestUpstreamResourcesAndPrompts(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServer(t)
	for _, w := range ways {
		c := s.connect(t, w, "tester", nil)
		resources, err := c.ListResources(t.Context(), nil)
		ok(t, err)
		const uri = "callgate://mcp/stage_one/notes:///today?full=1"
		if !slices.ContainsFunc(resources.Resources, func(r *sdk.Resource) bool { return r.URI == uri }) {
			t.Fatalf("%s: resources %+v", w.name, resources.Resources)
		}
		templates, err := c.ListResourceTemplates(t.Context(), nil)
		ok(t, err)
		if !slices.ContainsFunc(templates.ResourceTemplates, func(r *sdk.ResourceTemplate) bool {
			return r.URITemplate == "callgate://mcp/stage_one/notes:///{day}"
		}) {
			t.Errorf("%s: templates %+v", w.name, templates.ResourceTemplates)
		}
		for _, uri := range []string{uri, "callgate://mcp/stage_one/notes:///monday"} {
			read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			ok(t, err)
			want := "this is " + strings.TrimPrefix(uri, "callgate://mcp/stage_one/")
			if got := read.Contents[0]; got.URI != uri || got.Text != want {
				t.Errorf("%s: read %+v", w.name, got)
			}
		}
		prompts, err := c.ListPrompts(t.Context(), nil)
		ok(t, err)
		if len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "stage_one__greet" {
			t.Fatalf("%s: prompts %+v", w.name, prompts.Prompts)
		}
		got, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{
			Name: "stage_one__greet", Arguments: map[string]string{"who": "Ada"},
		})
		ok(t, err)
		if text := got.Messages[0].Content.(*sdk.TextContent).Text; text != "greet Ada" {
			t.Errorf("%s: prompt %q", w.name, text)
		}
		_, err = c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "nobody__greet"})
		if err == nil || !strings.Contains(err.Error(), "no prompt") {
			t.Errorf("%s: an unknown prompt: %v", w.name, err)
		}
		if _, said := call(t, c, "mcp_stage_one.echo", `{"text":"again"}`); !strings.HasPrefix(said, "again") {
			t.Errorf("%s: echo says %q", w.name, said)
		}
	}
}

// A server's question reaches the client whose call it is, also when it called
// through another tool.
func TestUpstreamAsks(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServer(t)
	for _, w := range ways {
		for name, args := range map[string]string{
			"mcp_stage_one.ask": `{}`, "execute_tool": `{"name":"mcp_stage_one.ask","params":{}}`,
		} {
			h := &human{answers: []sdk.ElicitResult{says("accept", "it", "this")}}
			_, said := call(t, s.connect(t, w, "tester", h.options()), name, args)
			if !strings.HasPrefix(said, "accept this") || len(h.saw) != 1 {
				t.Errorf("%s, %s: %d forms: %s", w.name, name, len(h.saw), said)
			}
		}
	}
}

// What is called through another tool is approved at the client, too.
func TestApprovalThroughAnotherTool(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		const args = `{"name":"demo.wipe","params":{"what":"disk"}}`
		h := &human{answers: []sdk.ElicitResult{says("accept", "approve", true, "arguments", `{"what":"cache"}`)}}
		_, said := call(t, s.connect(t, w, "tester", h.options()), "execute_tool", args)
		if !strings.Contains(said, `{"what":"cache"}`) || s.wiped.Load() != 1 || len(h.saw) != 1 {
			t.Errorf("%d forms, ran %d times: %s", len(h.saw), s.wiped.Load(), said)
		}
		c := s.connect(t, w, "mute", nil)
		if _, said := call(t, c, "execute_tool", args); !strings.Contains(said, "waiting for approval: demo.wipe") {
			t.Errorf("said %s", said)
		}
		s.approve(t, s.pending(t)[0].ID)
		if _, said := call(t, c, "execute_tool", args); !strings.Contains(said, `{"what":"disk"}`) || s.wiped.Load() != 2 {
			t.Errorf("ran %d times: %s", s.wiped.Load(), said)
		}
	})
}
