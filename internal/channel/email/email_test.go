package email_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"mime/quotedprintable"
	"net/http/httptest"
	"net/mail"
	"strings"
	"testing"
	"time"

	"callgate/internal/channel"
	"callgate/internal/channel/channeltest"
	"callgate/internal/channel/email"
	"callgate/internal/netguard"
	"callgate/tool"
)

// certificate is one for 127.0.0.1, and what trusts it.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: pool}
}

func guard(t *testing.T, private ...string) *netguard.Guard {
	t.Helper()
	g, err := netguard.New(netguard.Rules{Private: private})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func options(t *testing.T, s *channeltest.SMTP) email.Options {
	return email.Options{
		Host: "127.0.0.1", Port: s.Port(), TLS: email.Plain, Guard: guard(t, "127.0.0.1"),
		From: "Bot <bot@example.com>", To: []string{"ann@example.com", "bob@example.com"}, Subject: "a report",
	}
}

var message = channel.Message{
	ID: "d1", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Channel: "mail", App: "shop", Title: "Grüße\r\nBcc: x@y",
	Text: "first line\n.\nsecond: ü and more\n",
}

func TestSend(t *testing.T) {
	t.Parallel()
	server, roots := certificate(t)
	s := (&channeltest.SMTP{TLS: server, User: "bot", Password: "pa ss"}).Start(t)
	o := options(t, s)
	o.TLS, o.Roots, o.Username, o.Password = "", roots, "bot", "pa ss"
	sender := email.New(o)
	for range 2 { // a second attempt, because nobody knows of the first
		if err := sender.Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	mails := s.Mails()
	if len(mails) != 2 || mails[0].From != "bot@example.com" || strings.Join(mails[0].To, " ") != "ann@example.com bob@example.com" {
		t.Fatalf("%+v", mails)
	}
	var ids []string
	for _, m := range mails {
		read, err := mail.ReadMessage(strings.NewReader(m.Data))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, read.Header.Get("Message-ID"))
		var body io.Reader = read.Body
		if read.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			body = quotedprintable.NewReader(body)
		}
		text, _ := io.ReadAll(body)
		if got := strings.ReplaceAll(string(text), "\r\n", "\n"); !strings.HasPrefix(got, "first line\n.\nsecond: ü and more\n") {
			t.Errorf("the text is %q", text)
		}
		if read.Header.Get("Bcc") != "" || read.Header.Get("Auto-Submitted") != "auto-generated" {
			t.Errorf("headers: %v", read.Header)
		}
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("the mails of one message have the IDs %v", ids)
	}
}

// What a server answers says whether another attempt may help.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at, answer string
		kind       tool.Kind
		again      bool
	}{
		"busy":                       {"MAIL", "451 4.3.0 try later", tool.Unavailable, true},
		"no such receiver":           {"RCPT", "550 5.1.1 unknown", tool.Failed, false},
		"mailbox full":               {"RCPT", "452 4.2.2 full", tool.Unavailable, true},
		"refused content":            {".", "554 5.7.1 spam", tool.Failed, false},
		"gone before it was taken":   {".", "close", tool.Unavailable, true},
		"gone at once":               {"EHLO", "close", tool.Unavailable, true},
		"taken, then gone":           {"RSET", "close", "", false},
		"taken, then a wrong answer": {"QUIT", "500 what?", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&channeltest.SMTP{Answer: func(command, _ string) string {
				if command == c.at {
					return c.answer
				}
				return ""
			}}).Start(t)
			err := email.New(options(t, s)).Send(t.Context(), message)
			if _, again := channel.RetryIn(err); tool.KindOf(err) != c.kind || again != c.again {
				t.Errorf("%v", err)
			}
			if c.kind == "" && len(s.Mails()) != 1 {
				t.Errorf("%d mails", len(s.Mails()))
			}
		})
	}
}

func TestPasswordsTravelEncrypted(t *testing.T) {
	t.Parallel()
	server, roots := certificate(t)
	asked := make(chan string, 20)
	note := func(command, line string) string {
		if command == "AUTH" {
			asked <- line
		}
		return ""
	}
	open := (&channeltest.SMTP{User: "bot", Password: "x", Answer: note}).Start(t)
	closed := (&channeltest.SMTP{TLS: server, User: "bot", Password: "x", Answer: note}).Start(t)
	for name, change := range map[string]func(*email.Options){
		"a server without encryption":  func(o *email.Options) { o.TLS, o.Port = email.StartTLS, open.Port() },
		"somebody else's certificate":  func(o *email.Options) { o.TLS, o.Roots = email.StartTLS, nil },
		"encrypted from the beginning": func(o *email.Options) { o.TLS = email.Implicit },
	} {
		o := options(t, closed)
		o.Roots, o.Username, o.Password = roots, "bot", "x"
		change(&o)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if err := email.New(o).Send(ctx, message); err == nil {
			t.Errorf("%s: it was sent", name)
		}
		cancel()
	}
	select {
	case line := <-asked:
		t.Errorf("a login was sent: %s", line)
	default:
	}
	o := options(t, closed)
	o.TLS, o.Roots, o.Username, o.Password = email.StartTLS, roots, "bot", "another-one"
	err := email.New(o).Send(t.Context(), message)
	if tool.KindOf(err) != tool.Denied || strings.Contains(err.Error(), "another-one") {
		t.Errorf("a wrong password: %v", err)
	}
}

func TestGuarded(t *testing.T) {
	t.Parallel()
	s := (&channeltest.SMTP{}).Start(t)
	o := options(t, s)
	o.Guard = guard(t)
	if err := email.New(o).Send(t.Context(), message); tool.KindOf(err) != tool.Denied {
		t.Errorf("%v", err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	s := (&channeltest.SMTP{Answer: func(command, _ string) string {
		if command == "MAIL" {
			cancel()
			<-release // the server never answers
		}
		return ""
	}}).Start(t)
	err := email.New(options(t, s)).Send(ctx, message)
	close(release)
	if _, again := channel.RetryIn(err); tool.KindOf(err) != tool.Cancelled || !again {
		t.Errorf("%v", err)
	}
}
