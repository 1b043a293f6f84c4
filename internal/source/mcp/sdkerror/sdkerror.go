// Package sdkerror reads the errors of requests that were made with the MCP SDK.
package sdkerror

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// IsNotSent reports whether a request was not sent because the connection was
// closed before.
func IsNotSent(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing)
}

// Answer returns the error with which the server answered, or nil if the error
// is not the server's: the SDK gives its own errors codes too.
func Answer(err error) *jsonrpc.Error {
	const serverClosing, clientClosing, rejected = -32004, -32003, -32005
	var answer *jsonrpc.Error
	if errors.As(err, &answer) && !slices.Contains([]int64{serverClosing, clientClosing, rejected}, answer.Code) {
		return answer
	}
	return nil
}

// IsBroken reports whether an error that is not the server's certainly means
// the end of the connection. Other errors may be answers that cannot be read.
func IsBroken(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) || errors.Is(err, io.EOF) || strings.Contains(err.Error(), "terminated without response")
}
