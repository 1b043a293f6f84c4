//go:build !unix

package hosttools

import (
	"errors"
	"net"
	"os"
)

// Pair makes a connection, and its other end as a file that a program can be given.
func Pair() (net.Conn, *os.File, error) { return nil, nil, errors.ErrUnsupported }
