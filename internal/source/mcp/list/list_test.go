package list_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/list"
)

// connect returns a session with a server that answers lists by a handler, if
// the handler answers at all.
func connect(t *testing.T, caps *sdk.ServerCapabilities, handle func(method, cursor string) (sdk.Result, error)) *sdk.ClientSession {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "lists", Version: "1"}, &sdk.ServerOptions{Capabilities: caps})
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			cursor := ""
			switch p := req.GetParams().(type) {
			case *sdk.ListToolsParams:
				cursor = p.Cursor
			case *sdk.ListPromptsParams:
				cursor = p.Cursor
			}
			if res, err := handle(method, cursor); res != nil || err != nil {
				return res, err
			}
			return next(ctx, method, req)
		}
	})
	near, far := sdk.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func tools(next string, names ...string) *sdk.ListToolsResult {
	r := &sdk.ListToolsResult{NextCursor: next}
	for _, name := range names {
		r.Tools = append(r.Tools, &sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}})
	}
	return r
}

func TestTools(t *testing.T) {
	t.Parallel()
	withTools := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}
	unknown := func(string) (sdk.Result, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no"}
	}
	for _, c := range []struct {
		name string
		caps *sdk.ServerCapabilities
		page func(cursor string) (sdk.Result, error)
		want string // the names, or an error
	}{
		{"two pages", withTools, func(cursor string) (sdk.Result, error) {
			if cursor == "" {
				return tools("2", "a", "b"), nil
			}
			return tools("", "c"), nil
		}, "a b c"},
		{"a cursor twice", withTools, func(string) (sdk.Result, error) { return tools("again", "a"), nil }, "no end"},
		{"too many", withTools, func(string) (sdk.Result, error) {
			names := make([]string, 10_001)
			for i := range names {
				names[i] = fmt.Sprint(i)
			}
			return tools("", names...), nil
		}, "too long"},
		{"nothing is announced, and there are tools", &sdk.ServerCapabilities{},
			func(string) (sdk.Result, error) { return tools("", "a"), nil }, "a"},
		{"nothing is announced, and there are none", &sdk.ServerCapabilities{}, unknown, ""},
		{"announced, and unknown", withTools, unknown, "no"},
		{"only prompts are announced", &sdk.ServerCapabilities{Prompts: &sdk.PromptCapabilities{}},
			func(string) (sdk.Result, error) { return tools("", "not asked for"), nil }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			session := connect(t, c.caps, func(method, cursor string) (sdk.Result, error) {
				if method == "tools/list" {
					return c.page(cursor)
				}
				return nil, nil
			})
			defs, err := list.Tools(t.Context(), session)
			var names []string
			for _, d := range defs {
				names = append(names, d.Name)
			}
			if got := strings.Join(names, " "); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	session := connect(t, nil, func(method, cursor string) (sdk.Result, error) {
		switch method + cursor {
		case "prompts/list":
			return &sdk.ListPromptsResult{Prompts: []*sdk.Prompt{{Name: "p1"}}, NextCursor: "2"}, nil
		case "prompts/list2":
			return &sdk.ListPromptsResult{Prompts: []*sdk.Prompt{{Name: "p2"}}}, nil
		case "resources/list":
			return &sdk.ListResourcesResult{Resources: []*sdk.Resource{{URI: "file:///a", Name: "a"}}}, nil
		case "resources/templates/list":
			return &sdk.ListResourceTemplatesResult{ResourceTemplates: []*sdk.ResourceTemplate{}}, nil
		}
		return nil, nil
	})
	for _, c := range []struct {
		name string
		read list.Func
		want string
	}{
		{"prompts", list.Prompts, `[{"name":"p1"},{"name":"p2"}]`},
		{"resources", list.Resources, `[{"name":"a","uri":"file:///a"}]`},
		{"templates", list.ResourceTemplates, `[]`},
	} {
		items, err := c.read(t.Context(), session)
		got, _ := json.Marshal(items)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}
