package mcpserver_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel"
	"callgate/tool"
)

// A call whose target changes while its form is shown is shown in a second form.
func TestSecondQuestionIsASecondForm(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{}, define("demo.touch", tool.Runtime{
			Risk: tool.High, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
		}, `{"type":"object","properties":{"path":{"type":"string"}}}`,
			func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				return tool.OK("touched", nil)
			}))
		folder := s.opt.Session.Workspace
		link := filepath.Join(folder, "link")
		for _, name := range []string{"a", "b"} {
			ok(t, os.Mkdir(filepath.Join(folder, name), 0o700))
		}
		ok(t, os.Symlink("a", link))
		var forms []string
		answer := func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if len(forms) == 0 {
				ok(t, os.Remove(link))
				ok(t, os.Symlink("b", link))
			}
			forms = append(forms, r.Params.Message)
			said := says("accept", "approve", true)
			return &said, nil
		}
		c := s.connect(t, w, "tester", &sdk.ClientOptions{ElicitationHandler: answer})
		res, said := call(t, c, "demo.touch", `{"path":"link/x"}`)
		if res.IsError || len(forms) != 2 || !strings.Contains(forms[1], "what it touches changed") ||
			!strings.Contains(forms[1], "/b/x") {
			t.Errorf("%d forms, %s: %q", len(forms), said, forms)
		}
	})
}
