package mailbox_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"callgate/internal/channel"
	"callgate/internal/channel/mailbox"
	"callgate/internal/netguard"
	"callgate/tool"
)

// server is a mail server on this machine.
type server struct {
	user *imapmemserver.User
	port int
}

func serve(t *testing.T, config *tls.Config, insecure bool) *server {
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
	return &server{user, l.Addr().(*net.TCPAddr).Port}
}

// literal is a mail as the server takes it.
type literal struct{ *bytes.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

func (s *server) add(t *testing.T, mail string) {
	t.Helper()
	mail = strings.ReplaceAll(mail, "\n", "\r\n")
	if _, err := s.user.Append("INBOX", literal{bytes.NewReader([]byte(mail))}, &imap.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

func guard(t *testing.T, private ...string) *netguard.Guard {
	t.Helper()
	g, err := netguard.New(netguard.Rules{Private: private})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// look has a receiver look once, as after a restart.
func look(t *testing.T, o mailbox.Options, keep func(channel.Event) error) ([]channel.Event, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events []channel.Event
	var result error
	o.Interval, o.Report = time.Hour, func(err error) {
		result = err
		cancel()
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	err := mailbox.New(o).Receive(ctx, func(e channel.Event) error {
		if keep != nil {
			if err := keep(e); err != nil {
				return err
			}
		}
		events = append(events, e)
		return nil
	})
	return events, errors.Join(err, result)
}

func options(t *testing.T, s *server) mailbox.Options {
	return mailbox.Options{
		Host: "127.0.0.1", Port: s.port, TLS: mailbox.Plain, Username: "ann", Password: "pa ss", Guard: guard(t, "127.0.0.1"),
	}
}

const first = "From: Bob <bob@x.test>\nTo: ann@x.test\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nMessage-ID: <1@x.test>\n\nhello\n"

func TestUnseenMailsAreEvents(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, true)
	s.add(t, first)
	s.add(t, "From: eve@x.test\nSubject: second\n\nno ID\n")
	o := options(t, s)
	events, err := look(t, o, nil)
	if err != nil || len(events) != 2 {
		t.Fatalf("%v %v", events, err)
	}
	if e := events[0]; e.Title != "Grüße" || e.Facts[0] != (channel.Fact{Name: "from", Value: "Bob <bob@x.test>"}) || string(e.Body) != "hello\n" {
		t.Errorf("%+v", e)
	}
	if events[0].ID == events[1].ID || events[1].ID == "" {
		t.Errorf("the IDs are %s and %s", events[0].ID, events[1].ID)
	}
	if again, err := look(t, o, nil); err != nil || len(again) > 0 {
		t.Errorf("again: %v %v", again, err)
	}
}

// A mail that could not be kept stays unseen, and comes again under the same ID.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, true)
	s.add(t, "Subject: a\n\none\n")
	s.add(t, first)
	o := options(t, s)
	var offered []string
	_, err := look(t, o, func(e channel.Event) error {
		offered = append(offered, e.ID)
		if e.Title != "a" {
			return errors.New("the disk is full")
		}
		return nil
	})
	events, again := look(t, o, nil)
	if err == nil || again != nil || len(offered) != 2 || len(events) != 1 || events[0].ID != offered[1] {
		t.Errorf("%v; offered %v, then %v %v", err, offered, events, again)
	}
}

func TestLargeMailIsCut(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, true)
	s.add(t, "Subject: big\n\n"+strings.Repeat("0123456789\n", 1000))
	o := options(t, s)
	o.MaxBody = 200
	events, err := look(t, o, nil)
	if err != nil || len(events) != 1 || len(events[0].Body) > 200 || events[0].Size < 10_000 {
		t.Errorf("%+v %v", events, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	defer web.Close()
	pool := x509.NewCertPool()
	pool.AddCert(web.Certificate())
	open := serve(t, nil, true)
	secure := serve(t, &tls.Config{Certificates: web.TLS.Certificates}, false)
	secure.add(t, first)
	for name, c := range map[string]struct {
		server *server
		change func(*mailbox.Options)
		kind   tool.Kind
	}{
		"a wrong password":            {open, func(o *mailbox.Options) { o.Password = "guess" }, tool.Denied},
		"another folder":              {open, func(o *mailbox.Options) { o.Folder = "none" }, tool.Failed},
		"guarded":                     {open, func(o *mailbox.Options) { o.Guard = guard(t) }, tool.Denied},
		"no encryption there":         {open, func(o *mailbox.Options) { o.TLS = mailbox.StartTLS }, tool.Failed},
		"somebody else's certificate": {secure, func(o *mailbox.Options) { o.TLS = mailbox.StartTLS }, tool.Unavailable},
		"nobody":                      {open, func(o *mailbox.Options) { o.Port = 1 }, tool.Unavailable},
		"encrypted": {secure, func(o *mailbox.Options) {
			o.TLS, o.Roots = mailbox.StartTLS, &tls.Config{RootCAs: pool}
		}, ""},
	} {
		o := options(t, c.server)
		c.change(&o)
		events, err := look(t, o, nil)
		if tool.KindOf(err) != c.kind || (len(events) == 1) != (c.kind == "") {
			t.Errorf("%s: %v %v", name, events, err)
		}
		if err != nil && (strings.Contains(err.Error(), "pa ss") || strings.Contains(err.Error(), "guess")) {
			t.Errorf("%s tells the password: %v", name, err)
		}
	}
}
