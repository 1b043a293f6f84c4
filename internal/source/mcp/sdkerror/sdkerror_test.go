package sdkerror_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/sdkerror"
)

// refusing is a server that answers every call with an error, and the session
// of a client of it.
func refusing(t *testing.T, answer error) *sdk.ClientSession {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "refusing", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "refuse", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return nil, answer })
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

func call(t *testing.T, session *sdk.ClientSession) error {
	t.Helper()
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "refuse", Arguments: map[string]any{}})
	if err == nil {
		t.Fatal("the call succeeded")
	}
	return err
}

// The codes of a server are its own business, also those that the SDK uses for
// itself.
func TestAnswersOfServers(t *testing.T) {
	t.Parallel()
	for _, code := range []int64{-32602, -32603, -32001, -32003, -32004, -32005, 42} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			err := call(t, refusing(t, &jsonrpc.Error{Code: code, Message: "not today: ever"}))
			answer := sdkerror.Answer(err)
			if answer == nil || answer.Message != "not today: ever" || sdkerror.IsNotSent(err) {
				t.Errorf("%v is read as %+v, not sent: %v", err, answer, sdkerror.IsNotSent(err))
			}
		})
	}
}

func TestClosedConnections(t *testing.T) {
	t.Parallel()
	session := refusing(t, errors.New("no"))
	session.Close()
	err := call(t, session)
	if !sdkerror.IsNotSent(err) || sdkerror.Answer(err) != nil || !sdkerror.IsBroken(err) {
		t.Errorf("%v is read as not sent: %v, answer: %v", err, sdkerror.IsNotSent(err), sdkerror.Answer(err))
	}
}

func TestOtherErrors(t *testing.T) {
	t.Parallel()
	rejected := &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}
	for _, c := range []struct {
		name   string
		err    error
		broken bool
	}{
		{"the stream ended", fmt.Errorf(`calling "tools/call": %w`, io.EOF), true},
		{"rejected by the transport", fmt.Errorf(`sending "tools/call": %w: %w`, rejected, errors.New("connection refused")), true},
		{"the session is gone, and was when it was read", fmt.Errorf("reading: %w", sdk.ErrSessionMissing), true},
		{"a stream without an answer", errors.New("request terminated without response"), true},
		{"an answer that cannot be read", errors.New("unmarshaling result: bad"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if sdkerror.IsNotSent(c.err) || sdkerror.Answer(c.err) != nil || sdkerror.IsBroken(c.err) != c.broken {
				t.Errorf("not sent: %v, answer: %v, broken: %v",
					sdkerror.IsNotSent(c.err), sdkerror.Answer(c.err), sdkerror.IsBroken(c.err))
			}
		})
	}
}
