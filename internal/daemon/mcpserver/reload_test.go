package mcpserver_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol/operations"
)

// A client is told when a person had app files read again that change its tools, and only then; the next list is the
// new one.
func TestClientIsToldOfAReload(t *testing.T) {
	t.Parallel()
	const (
		all  = "runtime: {tool_injection: direct}\ntools: {capabilities: {approve: [{module: demo, actions: [wipe]}]}}\n"
		less = "runtime: {tool_injection: direct}\ntools: {capabilities: {approve: [{module: demo, actions: [wipe]}], " +
			"deny: [{module: demo, actions: [slow]}]}}\n"
		limited = "runtime: {tool_injection: direct, max_turns: 5}\n" +
			"tools: {capabilities: {approve: [{module: demo, actions: [wipe]}], deny: [{module: demo, actions: [slow]}]}}\n"
	)
	each(t, func(t *testing.T, w way) {
		t.Parallel()
		f := newFixture(t, kernel.Config{})
		file := filepath.Join(f.opt.Session.Workspace, "callgate.yaml")
		kerneltest.Write(t, file, all)
		told := make(chan struct{}, 16)
		c := f.connect(t, w, "an editor", &sdk.ClientOptions{
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} },
		})
		names := func() string {
			t.Helper()
			list, err := c.ListTools(t.Context(), nil)
			ok(t, err)
			var names []string
			for _, one := range list.Tools {
				names = append(names, one.Name)
			}
			return strings.Join(names, " ")
		}
		reload := func(text string) {
			t.Helper()
			kerneltest.Write(t, file, text)
			_, err := kernel.Reload(t.Context(), f.kernel, operations.Reload{})
			ok(t, err)
		}
		if got := names(); !strings.Contains(got, "demo__slow") || strings.Contains(got, "list_changed") {
			t.Fatalf("before: %s", got)
		}
		reload(less)
		<-told
		if got := names(); strings.Contains(got, "demo__slow") || !strings.Contains(got, "demo__wipe") ||
			strings.Contains(got, "list_changed") {
			t.Errorf("after a tool went: %s", got)
		}
		reload(limited) // another file, and the same tools
		reload(all)
		<-told
		if got := names(); !strings.Contains(got, "demo__slow") {
			t.Errorf("after it came back: %s", got)
		}
		if _, text := call(t, c, "demo__large", `{}`); text == "" {
			t.Error("no call goes through")
		}
		if len(told) > 0 {
			t.Errorf("it was told %d times more", len(told))
		}
	})
}
