package peer

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"

	"callgate/internal/ownership"
	"callgate/tool"
)

// Dial connects to the socket of a kernel of the same user. It is Denied, before a
// byte is sent, when the socket's folder belongs to another user, is a link or can
// be written by others, and when another user serves the socket: whoever serves it
// is given the human's key, secrets and calls. A folder or a socket that is not
// there is an error of the system.
//
// Where the system does not identify the server, the folder alone decides.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	const op = "peer.Dial"
	if err := ownership.Folder(filepath.Dir(path), 0o022); err != nil {
		var p *ownership.Problem
		if !errors.As(err, &p) {
			return nil, err
		}
		return nil, tool.Errorf(op, tool.Denied, "the folder of the kernel's socket is not safe: %w", p).
			WithHint("%s; or name another state directory with --state or CALLGATE_STATE", p.Fix)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if p, ok := Of(conn); ok && p.UID != os.Geteuid() {
		_ = conn.Close()
		return nil, tool.Errorf(op, tool.Denied,
			"another user serves the kernel's socket %s: %s, and this process runs as %s",
			path, ownership.UserName(p.UID), ownership.UserName(os.Geteuid())).
			WithHint("nothing was sent; name another state directory with --state or CALLGATE_STATE, or end process %d", p.PID)
	}
	return conn, nil
}
