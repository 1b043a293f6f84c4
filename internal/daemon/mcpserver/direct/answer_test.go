package direct

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/stdio/frame"
)

// A call that was taken back before it was begun is not begun, as with the SDK.
func TestTakenBackBeforeItIsBegun(t *testing.T) {
	begun := 0
	serve := func(_ context.Context, _ *sdk.CallToolParamsRaw, reply func(sdk.Result, error)) {
		begun++
		reply(&sdk.CallToolResult{}, nil)
	}
	c := New(t.Context(), func() bool { return true }, serve)
	r, ok := frame.Call([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`))
	if !ok {
		t.Fatal("the call is not plain")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.open[r.ID] = cancel
	c.running.Add(1)
	var told string
	c.answer(ctx, r, func(_ context.Context, line []byte) error {
		told = string(line)
		return nil
	})
	if begun != 0 || !strings.Contains(told, context.Canceled.Error()) || len(c.open) != 0 {
		t.Errorf("%d calls were begun, and the client is told %s", begun, told)
	}
}
