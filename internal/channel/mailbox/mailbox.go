// Package mailbox takes events in from a mailbox: each mail that nobody has seen is one.
//
// Law: a mail is fetched without being marked, passed on, and marked as seen once it is
// kept, so none is lost. It is an event once, by its Message-ID, or where it has none
// by its number in the mailbox. A password travels encrypted, or to this machine itself.
package mailbox

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"callgate/internal/channel"
	"callgate/internal/netguard"
	"callgate/tool"
)

// The ways to encrypt.
const (
	StartTLS = "starttls" // begun in the open, and required
	Implicit = "implicit" // from the first byte
	Plain    = "none"
)

// Options is which mailbox is looked at.
type Options struct {
	Host     string
	Port     int    // 0: 993, 143 for the others than Implicit
	TLS      string // "": Implicit
	Username string
	Account  string // by which the IDs of events tell it from others, without secrets; "": Username
	Password string
	Folder   string // "": INBOX
	Interval time.Duration
	MaxBody  int64 // bytes of a mail that are fetched
	Guard    *netguard.Guard
	Roots    *tls.Config // for tests; nil: the system's
	Report   func(error) // may be nil
}

// The bounds of one look.
const (
	timeout  = 2 * time.Minute
	maxMails = 100 // the rest is for the next look, which comes at once
)

// New makes a receiver.
func New(o Options) channel.Receiver {
	if o.Folder == "" {
		o.Folder = "INBOX"
	}
	o.Account = cmp.Or(o.Account, o.Username)
	s := &source{o}
	return &channel.Poller{Interval: o.Interval, Check: s.check, Report: o.Report}
}

type source struct{ opt Options }

const op = "mailbox.Receive"

func (s *source) address() string {
	port := s.opt.Port
	if port == 0 {
		if port = 143; s.opt.TLS == "" || s.opt.TLS == Implicit {
			port = 993
		}
	}
	return net.JoinHostPort(s.opt.Host, strconv.Itoa(port))
}

// check looks at the mailbox once.
func (s *source) check(ctx context.Context, keep func(channel.Event) error) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, client, err := s.connect(ctx)
	if err != nil {
		return 0, s.failed(ctx, err)
	}
	defer client.Close()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	if err := client.Login(s.opt.Username, s.opt.Password).Wait(); err != nil {
		var answer *imap.Error
		if errors.As(err, &answer) {
			return 0, tool.Errorf(op, tool.Denied, "%s refused the login: %s", s.opt.Host, answer.Text).
				WithHint("check username and credential of the trigger")
		}
		return 0, s.failed(ctx, cmp.Or(conn.tooMuch(s.opt.Host), err))
	}
	more, err := s.unseen(conn, client, keep)
	if err != nil {
		return 0, s.failed(ctx, cmp.Or(conn.tooMuch(s.opt.Host), err))
	}
	_ = client.Logout().Wait() // all that counts has happened
	if more {
		return time.Second, nil
	}
	return 0, nil
}

func (s *source) connect(ctx context.Context) (*boundedConn, *imapclient.Client, error) {
	raw, err := s.opt.Guard.DialContext(ctx, "tcp", s.address())
	if err != nil {
		return nil, nil, err
	}
	bounded := &boundedConn{Conn: raw}
	bounded.allow(maxAnswer)
	client, err := s.begin(ctx, bounded)
	return bounded, client, err
}

// begin begins to speak the protocol, encrypted as the mailbox says.
func (s *source) begin(ctx context.Context, conn net.Conn) (*imapclient.Client, error) {
	config := &tls.Config{ServerName: s.opt.Host, MinVersion: tls.VersionTLS12}
	if s.opt.Roots != nil {
		config.RootCAs = s.opt.Roots.RootCAs
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	switch s.opt.TLS {
	case StartTLS:
		return imapclient.NewStartTLS(conn, &imapclient.Options{TLSConfig: config})
	case Plain:
		if !isLocal(conn) {
			_ = conn.Close()
			return nil, tool.Errorf(op, tool.Denied, "the password would travel to %s in the open", s.opt.Host).
				WithHint("write tls: implicit or tls: starttls")
		}
	default:
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		conn = secure
	}
	return imapclient.New(conn, nil), nil
}

// isLocal reports whether the other end of a connection is this machine.
func isLocal(conn net.Conn) bool {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	return err == nil && net.ParseIP(host).IsLoopback()
}

// unseen passes on the mails that nobody has seen, the oldest first. It reports whether
// there are more.
func (s *source) unseen(
	conn *boundedConn, c *imapclient.Client, keep func(channel.Event) error,
) (more bool, err error) {
	conn.allow(maxAnswer)
	selected, err := c.Select(s.opt.Folder, nil).Wait()
	if err != nil {
		return false, err
	}
	conn.allow(maxFound)
	found, err := c.UIDSearch(&imap.SearchCriteria{NotFlag: []imap.Flag{imap.FlagSeen}}, nil).Wait()
	if err != nil {
		return false, err
	}
	uids := found.AllUIDs()
	for _, uid := range uids[:min(len(uids), maxMails)] {
		conn.allow(s.opt.MaxBody + s.opt.MaxBody/4 + maxAnswer)
		event, err := s.fetch(c, selected.UIDValidity, uid)
		if err != nil {
			return false, err
		}
		if event == nil {
			continue // it was deleted meanwhile
		}
		if err := keep(*event); err != nil {
			return false, fmt.Errorf("a mail could not be kept: %w", err)
		}
		flags := &imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: []imap.Flag{imap.FlagSeen}}
		if err := c.Store(imap.UIDSetNum(uid), flags, nil).Close(); err != nil {
			return false, err
		}
	}
	return len(uids) > maxMails, nil
}

// fetch reads one mail; nil: it is gone.
func (s *source) fetch(c *imapclient.Client, validity uint32, uid imap.UID) (*channel.Event, error) {
	section := &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Size: s.opt.MaxBody}}
	list, err := c.Fetch(imap.UIDSetNum(uid), &imap.FetchOptions{
		UID: true, RFC822Size: true, InternalDate: true, BodySection: []*imap.FetchItemBodySection{section},
	}).Collect()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	raw := list[0].FindBodySection(section)
	event := readMail(raw)
	if event.ID == "" {
		event.ID = fmt.Sprintf("uid-%d-%d", validity, uid)
	}
	event.ID = channel.HashID(s.opt.Host, s.opt.Account, event.ID)
	event.At = time.Now()
	if size := list[0].RFC822Size; size > int64(len(raw)) {
		event.Size = int(size)
	}
	return &event, nil
}

// failed is the error of a mailbox that cannot be looked at.
func (s *source) failed(ctx context.Context, err error) error {
	var e *tool.Error
	var answer *imap.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &answer):
		return tool.Errorf(op, tool.Failed, "%s answered: %s", s.opt.Host, answer.Text)
	case ctx.Err() != nil:
		return tool.Errorf(op, tool.Timeout, "%s did not answer in time", s.opt.Host)
	}
	return tool.Errorf(op, tool.Unavailable, "%s cannot be used now: %v", s.opt.Host, err)
}
