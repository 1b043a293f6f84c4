package mcpresult

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"callgate/tool"
)

// Failure is the result of a call that an error ended.
func Failure(op string, err error) *tool.Result {
	e := toolError(op, err)
	return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e}
}

// ProtocolError writes an error as the protocol has it.
func ProtocolError(err error) error {
	var known *jsonrpc.Error
	if errors.As(err, &known) {
		return known
	}
	e := toolError("mcpserver", err)
	code := int64(jsonrpc.CodeInternalError)
	switch e.Kind {
	case tool.Invalid, tool.NotFound, tool.Ambiguous, tool.Denied:
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: e.Error()}
}

func toolError(op string, err error) *tool.Error {
	var e *tool.Error
	if errors.As(err, &e) {
		return e
	}
	return &tool.Error{Op: op, Kind: tool.Internal, Message: err.Error(), Err: err}
}
