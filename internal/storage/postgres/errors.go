package postgres

import "callgate/tool"

// unreadable is the error of a row that holds something else than it should.
func unreadable(op, what string, err error) error {
	return &tool.Error{Op: op, Kind: tool.Internal, Message: what + " cannot be read", Err: err}
}

// unwritable is the error of a value that is not JSON.
func unwritable(op, what string, err error) error {
	return &tool.Error{Op: op, Kind: tool.Invalid, Message: what + " cannot be written", Err: err}
}
