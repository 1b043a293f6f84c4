// Package mailserver reaches the servers of a mail account: the one that has its mailbox
// (IMAP) and the one that sends its mail (SMTP).
//
// # Law
//
//   - Every connection is made by the guard, and ends with the call that made it: none is
//     kept. It ends at once when the call does, whatever the server does.
//   - A secret travels encrypted, or to this machine itself, or not at all.
//   - What a server may send during a call is bounded; more ends the call.
//   - Nothing is changed in a mailbox but by Append: reading leaves a mail unread.
package mailserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"callgate/internal/netguard"
	"callgate/tool"
)

// The ways to encrypt.
const (
	StartTLS = "starttls" // begun in the open, and required
	Implicit = "implicit" // from the first byte
	Plain    = "none"     // to this machine alone, where there is a secret
)

// Account is a mail account.
type Account struct {
	IMAP, SMTP Address
	Username   string // "": nobody logs in
	Secret     string // the password, or the token
	OAuth      bool   // Secret is a bearer token
	Guard      *netguard.Guard
	Roots      *x509.CertPool // nil: the system's
}

// Address is where a server is, and how it is spoken to.
type Address struct {
	Host string // "": there is none
	Port int
	TLS  string
}

// ParseAddress reads host or host:port. The port is, unless it is given, the usual one for
// the way to encrypt.
func ParseAddress(text, how string, ports map[string]int) (Address, error) {
	a := Address{Host: text, Port: ports[how], TLS: how}
	if host, port, err := net.SplitHostPort(text); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return Address{}, errors.New(strconv.Quote(tool.Truncate(text)) + " has no port from 1 to 65535")
		}
		a.Host, a.Port = host, n
	}
	if strings.ContainsAny(a.Host, "/@ ") || a.Host == "" {
		return Address{}, errors.New(strconv.Quote(tool.Truncate(text)) + " is no server: write host or host:port")
	}
	return a, nil
}

// String writes the address as host:port.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

const op = "mailserver" // the module puts the tool in its place

// dial connects to a server; the connection is encrypted where that is implicit, and ends
// with ctx.
func (a *Account) dial(ctx context.Context, to Address, most int64) (*boundedConn, error) {
	raw, err := a.Guard.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	conn := &boundedConn{Conn: raw, left: most}
	conn.stop = context.AfterFunc(ctx, func() { _ = raw.Close() })
	if to.TLS == Plain && a.Secret != "" && !isLocal(raw) {
		_ = conn.Close()
		return nil, tool.Errorf(op, tool.Denied, "the secret would travel to %s in the open", to.Host).
			WithHint("let the app file encrypt: tls implicit or starttls")
	}
	if to.TLS != Implicit {
		return conn, nil
	}
	secure := tls.Client(raw, a.tls(to))
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	conn.Conn = secure
	return conn, nil
}

func (a *Account) tls(to Address) *tls.Config {
	return &tls.Config{ServerName: to.Host, MinVersion: tls.VersionTLS12, RootCAs: a.Roots}
}

// isLocal reports whether the other end of a connection is this machine.
func isLocal(conn net.Conn) bool {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	return err == nil && net.ParseIP(host).IsLoopback()
}

// boundedConn is a connection over which so many bytes may come.
type boundedConn struct {
	net.Conn
	left     int64
	exceeded atomic.Bool
	stop     func() bool
}

var errExceeded = errors.New("the server sent more than is read")

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.exceeded.Store(true)
		return 0, errExceeded
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

func (c *boundedConn) Close() error {
	c.stop()
	return c.Conn.Close()
}

// failed is the error of a server that could not be used, whatever the protocol: nil if
// there is nothing to say of it here.
func failed(ctx context.Context, host string, conn *boundedConn, err error) *tool.Error {
	var e *tool.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return tool.Errorf(op, tool.Timeout, "%s did not answer in time", host).
			WithHint("try again later, or ask for less; the app file gives the time: timeout_seconds")
	case ctx.Err() != nil:
		return tool.Errorf(op, tool.Cancelled, "the call was cancelled")
	case conn != nil && conn.exceeded.Load():
		return tool.Errorf(op, tool.Failed, "%s sent more than is read in one call", host).
			WithHint("ask for less: a smaller limit, or one message")
	case errors.As(err, &certificate):
		return tool.Errorf(op, tool.Failed, "the certificate of %s cannot be trusted: %v", host, certificate.Err).
			WithHint("check the name of the server in the app file; the owner of the machine may add an authority")
	case errors.As(err, &record):
		return tool.Errorf(op, tool.Failed, "%s does not speak TLS at this port", host).
			WithHint("check port and tls in the app file: implicit is for 993 and 465, starttls for 143 and 587")
	case errors.Is(err, syscall.ECONNREFUSED):
		return tool.Errorf(op, tool.Unavailable, "%s refused the connection", host).
			WithHint("check host and port in the app file, and that the server runs")
	}
	return nil
}
