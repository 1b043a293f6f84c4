package mcpserver_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel"
	upstream "callgate/internal/source/mcp/downstream"
	"callgate/internal/visible"
	"callgate/tool"
)

// hidesNothing holds everything that a form shows against what a human sees.
func hidesNothing(t *testing.T, form *sdk.ElicitParams) {
	t.Helper()
	if visible.Lines(form.Message) != form.Message {
		t.Errorf("the form hides something: %q", form.Message)
	}
	data, err := json.Marshal(form.RequestedSchema)
	ok(t, err)
	var schema struct {
		Properties map[string]struct{ Title, Description, Default string }
	}
	ok(t, json.Unmarshal(data, &schema))
	for name, p := range schema.Properties {
		for _, text := range []string{name, p.Title, p.Description, p.Default} {
			if visible.Lines(text) != text {
				t.Errorf("the field %q hides something: %q", name, text)
			}
		}
	}
}

const trick = "a\u202eb\u200bc\U000e0064\U000e006f\x1b[2J"

// A human sees everything in the form that asks whether a call may run, and an
// approval of what is shown approves the call as it is.
func TestApprovalFormHidesNothing(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		s.opt.Session.Workspace = filepath.Join(t.TempDir(), "x\u202ey\nz")
		ok(t, os.Mkdir(s.opt.Session.Workspace, 0o700))
		h := &human{}
		args, err := json.Marshal(map[string]string{"what": trick})
		ok(t, err)
		h.answers = inOrder(says("accept", "approve", true,
			"arguments", `{"what": "a\u202eb\u200bc\udb40\udc64\udb40\udc6f\u001b[2J"}`))
		_, said := call(t, s.connect(t, w, "tester", h.options()), "demo.wipe", string(args))
		if len(h.saw) != 1 || s.wiped.Load() != 1 || strings.Contains(said, "edited") {
			t.Fatalf("%d forms, ran %d times: %s", len(h.saw), s.wiped.Load(), said)
		}
		hidesNothing(t, h.saw[0])
		if m := h.saw[0].Message; !containsAll(m, "tester wants", "x⟨U+202E⟩y⟨U+000A⟩z",
			`what: a⟨U+202E⟩b⟨U+200B⟩c⟨U+E0064… tags "do"⟩⟨U+001B⟩[2J`) {
			t.Errorf("the form says %s", m)
		}
	})
}

// A human sees everything in the form of a server, which names its server.
func TestServerFormHidesNothing(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		var s *fixture
		field, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{
			"title": map[string]any{"type": "string", "title": trick, "description": trick, "enum": []string{"a\u200b", "b"}},
		}})
		ok(t, err)
		asks := define("demo.ask", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, `{"type":"object"}`,
			func(ctx context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
				g := s.kernel.Clients.ClientOf([]string{c.ID})
				long := trick + strings.Repeat("x", 10_000)
				answers, err := upstream.Forward(ctx, g, "curious\u202e", sdk.InputRequestMap{"q": &sdk.ElicitParams{
					Message: long, RequestedSchema: json.RawMessage(field),
				}})
				if err != nil {
					return nil, err
				}
				return tool.OK("asked", answers["q"].(*sdk.ElicitResult).Content["title"])
			})
		s = newFixture(t, kernel.Config{}, asks)
		h := &human{answers: inOrder(says("accept", "title", "a\u200b"))}
		_, said := call(t, s.connect(t, w, "tester", h.options()), "demo.ask", `{}`)
		if len(h.saw) != 1 || !strings.Contains(said, "a\u200b") {
			t.Fatalf("%d forms: %q", len(h.saw), said)
		}
		hidesNothing(t, h.saw[0])
		if m := h.saw[0].Message; !containsAll(m, "The MCP server curious⟨U+202E⟩ asks: a⟨U+202E⟩b⟨U+200B⟩c", `tags "do"`,
			"more characters⟩", "hide characters: a⟨U+200B⟩.") {
			t.Errorf("the form says %s", m)
		}
	})
}

// What the gate keeps back from a client is no resource of it either.
func TestWithheldResultIsNoResource(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		const payload = `{"value": "kept-back"}`
		hidden := tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Exposure: tool.Nobody}
		s := newFixture(t, kernel.Config{}, define("demo.hidden", hidden, `{"type":"object"}`,
			func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				return tool.FromJSON(json.RawMessage(payload))
			}))
		c := s.connect(t, w, "tester", nil)
		res, said := call(t, c, "demo.hidden", `{}`)
		if res.IsError || strings.Contains(said, "kept-back") {
			t.Errorf("answered with %s", said)
		}
		ref := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(payload)))
		if _, err := s.kernel.Artifacts.Get(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		if r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "callgate://artifact/" + ref}); err == nil {
			t.Errorf("the client reads %s", r.Contents[0].Text)
		}
	})
}
