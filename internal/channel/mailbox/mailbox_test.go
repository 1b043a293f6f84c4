package mailbox_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"callgate/internal/channel"
	"callgate/internal/channel/channeltest"
	"callgate/internal/channel/mailbox"
	"callgate/internal/netguard"
	"callgate/tool"
)

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

func options(t *testing.T, s *channeltest.IMAP) mailbox.Options {
	return mailbox.Options{
		Host: "127.0.0.1", Port: s.Port, TLS: mailbox.Plain, Username: "ann", Password: "pa ss", Guard: guard(t, "127.0.0.1"),
	}
}

const first = "From: Bob <bob@x.test>\nTo: ann@x.test\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nMessage-ID: <1@x.test>\n\nhello\n"

func TestUnseenMailsAreEvents(t *testing.T) {
	t.Parallel()
	s := channeltest.NewIMAP(t, nil, true)
	s.Add(t, first)
	s.Add(t, "From: eve@x.test\nSubject: second\n\nno ID\n")
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
	s := channeltest.NewIMAP(t, nil, true)
	s.Add(t, "Subject: a\n\none\n")
	s.Add(t, first)
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
	s := channeltest.NewIMAP(t, nil, true)
	s.Add(t, "Subject: big\n\n"+strings.Repeat("0123456789\n", 1000))
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
	open := channeltest.NewIMAP(t, nil, true)
	secure := channeltest.NewIMAP(t, &tls.Config{Certificates: web.TLS.Certificates}, false)
	secure.Add(t, first)
	for name, c := range map[string]struct {
		server *channeltest.IMAP
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
