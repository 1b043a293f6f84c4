package channeltest

import (
	"bytes"
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
)

// IMAP is a mail server with the mailbox INBOX of ann, whose password is "pa ss". Start it
// with NewIMAP.
type IMAP struct {
	Port int // on 127.0.0.1
	user *imapmemserver.User
}

// NewIMAP starts a mail server. config is offered as STARTTLS; insecure lets ann log in
// without it.
func NewIMAP(t testing.TB, config *tls.Config, insecure bool) *IMAP {
	t.Helper()
	user := imapmemserver.NewUser("ann", "pa ss")
	if err := user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	memory := imapmemserver.New()
	memory.AddUser(user)
	s := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return memory.NewSession(), nil, nil
		},
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}}, TLSConfig: config, InsecureAuth: insecure,
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return &IMAP{l.Addr().(*net.TCPAddr).Port, user}
}

// literal is a mail as the server takes it.
type literal struct{ *bytes.Reader }

// Size is how many bytes it has.
func (l literal) Size() int64 { return l.Reader.Size() }

// Add puts a mail into the mailbox.
func (s *IMAP) Add(t testing.TB, mail string) {
	t.Helper()
	mail = strings.ReplaceAll(mail, "\n", "\r\n")
	if _, err := s.user.Append("INBOX", literal{bytes.NewReader([]byte(mail))}, &imap.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}
