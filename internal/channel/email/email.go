// Package email sends messages as mails, through an SMTP server.
//
// Law: a message is one mail of plain text to all who are named. Its Message-ID is made
// of the message's ID, so it is the same on every attempt, and mail programs show one.
// A mail counts as sent once the server took it, whatever becomes of the connection
// afterwards. A password travels encrypted, or to this machine itself, or not at all.
package email

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

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

// Options is where a channel's mails go.
type Options struct {
	Host     string
	Port     int    // 0: 587, 465 for Implicit, 25 for Plain
	TLS      string // "": StartTLS
	Username string // "": nobody logs in
	Password string
	From     string
	To       []string
	Subject  string        // of messages without a title
	Timeout  time.Duration // of one attempt; 0: a minute
	Guard    *netguard.Guard
	Roots    *tls.Config // for tests; nil: the system's
}

func (o *Options) port() int {
	switch {
	case o.Port > 0:
		return o.Port
	case o.TLS == Implicit:
		return 465
	case o.TLS == Plain:
		return 25
	}
	return 587
}

// Sender sends mails.
type Sender struct{ opt Options }

var _ channel.Sender = (*Sender)(nil)

// New makes a sender.
func New(o Options) *Sender {
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	return &Sender{o}
}

const op = "email.Send"

// Send makes one attempt.
func (s *Sender) Send(ctx context.Context, m channel.Message) error {
	msg, err := s.compose(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	client, err := s.client(ctx)
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the channel %s cannot be used: %v", m.Channel, err)
	}
	err = client.DialAndSendWithContext(ctx, msg)
	if err == nil || msg.IsDelivered() {
		return nil
	}
	return failed(ctx, m.Channel, err)
}

func (s *Sender) compose(m channel.Message) (*mail.Msg, error) {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(s.opt.From); err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the sender of the channel %s is no address of mail: %v", m.Channel, err)
	}
	if err := msg.To(s.opt.To...); err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "a receiver of the channel %s is no address of mail: %v", m.Channel, err)
	}
	msg.Subject(m.TitleOr(s.opt.Subject))
	msg.SetMessageIDWithValue(messageID(m.ID, s.opt.From))
	msg.SetDateWithValue(m.At)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no holiday notice answers it
	msg.SetBodyString(mail.TypeTextPlain, strings.ReplaceAll(m.Text, "\x00", "�"))
	return msg, nil
}

// messageID is the ID of a message as mails have it.
func messageID(id, from string) string {
	domain := "callgate"
	if at := strings.LastIndexByte(from, '@'); at >= 0 {
		domain = strings.Trim(from[at+1:], "> ")
	}
	return channel.HashID(id) + "." + strconv.Itoa(len(id)) + "@" + domain
}

// client makes a client for one mail. Its connection is the guard's, and ends with ctx.
func (s *Sender) client(ctx context.Context) (*mail.Client, error) {
	config := &tls.Config{ServerName: s.opt.Host, MinVersion: tls.VersionTLS12}
	if s.opt.Roots != nil {
		config.RootCAs = s.opt.Roots.RootCAs
	}
	dial := func(within context.Context, network, address string) (net.Conn, error) {
		conn, err := s.opt.Guard.DialContext(within, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
		if s.opt.TLS != Implicit {
			return conn, nil
		}
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(within); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return secure, nil
	}
	options := []mail.Option{
		mail.WithPort(s.opt.port()), mail.WithTimeout(s.opt.Timeout), mail.WithTLSConfig(config),
		mail.WithDialContextFunc(dial), mail.WithHELO("localhost"), mail.WithTLSPolicy(mail.TLSMandatory),
	}
	switch s.opt.TLS {
	case Implicit:
		options = append(options, mail.WithSSL())
	case Plain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if s.opt.Username != "" {
		options = append(options, mail.WithUsername(s.opt.Username), mail.WithPassword(s.opt.Password),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthPlain, mail.SMTPAuthLogin, mail.SMTPAuthSCRAMSHA256))
	}
	return mail.NewClient(s.opt.Host, options...)
}

// failed is the error of a mail that was not sent. A server that gave no answer may
// give one later; one that answered with 5xx will not take this mail.
func failed(ctx context.Context, name string, err error) error {
	var guarded *tool.Error
	var answer *textproto.Error
	var send *mail.SendError
	code := 0
	switch {
	case errors.As(err, &guarded) && guarded.Kind != tool.NotFound:
		return guarded
	case errors.As(err, &answer):
		code = answer.Code
	case errors.As(err, &send):
		code = send.ErrorCode()
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return tool.Errorf(op, tool.Timeout, "the mail server of the channel %s did not answer in time", name)
	case ctx.Err() != nil:
		return tool.Errorf(op, tool.Cancelled, "the delivery was stopped")
	case code == 530 || code == 534 || code == 535:
		return tool.Errorf(op, tool.Denied, "the mail server of the channel %s refused the login: %v", name, err).
			WithHint("check username and credential of the channel")
	case code >= 500:
		return tool.Errorf(op, tool.Failed, "the mail server of the channel %s refused the mail: %v", name, err)
	case code == 0 && isConfiguration(err):
		return tool.Errorf(op, tool.Failed, "the mail server of the channel %s cannot be used: %v", name, err).
			WithHint("check tls, port and username of the channel")
	}
	return tool.Errorf(op, tool.Unavailable, "the mail server of the channel %s cannot be used now: %v", name, err)
}

// isConfiguration reports errors that no second attempt mends: a server without the
// encryption or the login that the app file wants, or with somebody else's certificate.
func isConfiguration(err error) bool {
	var certificate *tls.CertificateVerificationError
	text := err.Error()
	return errors.As(err, &certificate) || strings.Contains(text, "does not support STARTTLS") ||
		strings.Contains(text, "does not support SMTP AUTH") || strings.Contains(text, "unencrypted connection")
}
