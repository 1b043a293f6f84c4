// Package sdkerror reads the errors of requests that were made with the MCP SDK.
//
// The SDK gives its own errors the form of answers, with codes in the range that
// servers use too, and finds them by their codes alone. So a server's error with
// such a code looks like the end of the connection, and only the messages tell
// them apart.
package sdkerror

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The messages of the SDK's own errors for a connection that is closed.
const (
	clientClosing = "client is closing"
	serverClosing = "server is closing"
)

// own are the SDK's own errors.
var own = []jsonrpc.Error{
	{Code: -32003, Message: clientClosing},
	{Code: -32004, Message: serverClosing},
	{Code: -32005, Message: "rejected by transport"},
}

// ErrNotSent is wrapped by our transports where they know that nothing of a
// request reached the server.
var ErrNotSent = errors.New("it was not sent")

// IsNotSent reports whether a request was certainly not sent: the connection was
// closed before, or could not be made. A server of the same SDK that is closing answers the same to a
// request that it does not take.
func IsNotSent(err error) bool {
	if errors.Is(err, ErrNotSent) {
		return true
	}
	text := err.Error()
	return errors.Is(err, sdk.ErrConnectionClosed) &&
		(strings.Contains(text, clientClosing) || strings.Contains(text, serverClosing))
}

// Answer returns the error with which the server answered, or nil if the error
// is not the server's. One that the SDK took for the end of the connection has
// lost all but its message.
func Answer(err error) *jsonrpc.Error {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) {
		same := func(e jsonrpc.Error) bool { return e.Code == answer.Code && e.Message == answer.Message }
		if slices.ContainsFunc(own, same) {
			return nil
		}
		return answer
	}
	if !errors.Is(err, sdk.ErrConnectionClosed) || IsNotSent(err) {
		return nil
	}
	_, message, _ := strings.Cut(err.Error(), ": calling ") // as in: connection closed: calling "tools/call": MESSAGE
	_, message, _ = strings.Cut(message, ": ")
	return &jsonrpc.Error{Message: message}
}

// IsBroken reports whether an error that is not the server's certainly means
// the end of the connection. Other errors may be answers that cannot be read.
func IsBroken(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) || errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrSessionMissing) ||
		errors.Is(err, sdk.ErrConnectionClosed) || strings.Contains(err.Error(), "terminated without response")
}
