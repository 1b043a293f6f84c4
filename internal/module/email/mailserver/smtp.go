package mailserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"strings"

	"github.com/wneessen/go-mail"

	"callgate/tool"
)

// maxAnswers bounds what an SMTP server says during one mail.
const maxAnswers = 1 << 20

// Send sends a mail to all whom it names, or to nobody. An error of the kind InDoubt says
// that the mail was handed over, and that the server did not say what became of it.
func (a *Account) Send(ctx context.Context, msg *mail.Msg) error {
	var conn *boundedConn
	client, err := a.smtpClient(func(within context.Context, _, _ string) (net.Conn, error) {
		var err error
		if conn, err = a.dial(ctx, a.SMTP, maxAnswers); err != nil {
			return nil, err
		}
		return conn, nil
	})
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the server %s cannot be used: %v", a.SMTP.Host, err)
	}
	err = client.DialAndSendWithContext(ctx, msg)
	if conn != nil {
		_ = conn.Close()
	}
	if err == nil || msg.IsDelivered() {
		return nil
	}
	return a.notSent(ctx, conn, err)
}

func (a *Account) smtpClient(dial mail.DialContextFunc) (*mail.Client, error) {
	options := []mail.Option{
		mail.WithPort(a.SMTP.Port), mail.WithTLSConfig(a.tls(a.SMTP)), mail.WithDialContextFunc(dial),
		mail.WithHELO("localhost"), mail.WithTLSPolicy(mail.TLSMandatory),
	}
	switch a.SMTP.TLS {
	case Implicit:
		options = append(options, mail.WithSSL())
	case Plain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	switch {
	case a.Username == "" || a.Secret == "":
	case a.OAuth:
		options = append(options, mail.WithSMTPAuthCustom(smtpBearer{a.Username, a.Secret, a.SMTP}))
	default:
		options = append(options, mail.WithUsername(a.Username), mail.WithPassword(a.Secret),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthPlain, mail.SMTPAuthLogin, mail.SMTPAuthSCRAMSHA256))
	}
	return mail.NewClient(a.SMTP.Host, options...)
}

// notSent is the error of a mail that was not sent, or may not have been.
func (a *Account) notSent(ctx context.Context, conn *boundedConn, err error) error {
	var answer *textproto.Error
	var send *mail.SendError
	code := 0
	if errors.As(err, &answer) {
		code = answer.Code
	} else if errors.As(err, &send) {
		code = send.ErrorCode()
	}
	if send = nil; errors.As(err, &send) && send.Reason == mail.ErrSMTPDataClose && code == 0 {
		return tool.Errorf(op, tool.InDoubt, "the mail was handed to %s, which did not say whether it took it", a.SMTP.Host).
			WithHint("look into the sent mail, or ask the receiver, before it is sent again")
	}
	if e := failed(ctx, a.SMTP.Host, conn, err); e != nil {
		return e
	}
	reason := withoutID(err.Error())
	switch {
	case code == 530 || code == 534 || code == 535:
		return tool.Errorf(op, tool.Denied, "%s refused the login: %s", a.SMTP.Host, reason).
			WithHint("%s", loginHint)
	case code == 552 || code == 523:
		return tool.Errorf(op, tool.Failed, "the mail is too large for %s: %s", a.SMTP.Host, reason).
			WithHint("attach less, or send a link")
	case code >= 500:
		return tool.Errorf(op, tool.Failed, "%s refused the mail, and nobody has got it: %s", a.SMTP.Host, reason)
	case code == 0 && isConfiguration(err):
		return tool.Errorf(op, tool.Failed, "%s cannot be used: %s", a.SMTP.Host, reason).
			WithHint("check smtp, smtp_tls, username and auth in the app file")
	}
	return tool.Errorf(op, tool.Unavailable, "%s cannot be used now, and nobody has got the mail: %s",
		a.SMTP.Host, reason).WithHint("try again later")
}

const loginHint = "check username, auth and credential of the module email in the app file; many providers want a " +
	"password for apps, or a token (auth: oauth)"

// withoutID leaves out what the library adds to a server's words.
func withoutID(text string) string {
	text, _, _ = strings.Cut(text, ", affected message ID")
	return tool.TruncateTo(text, 500)
}

// isConfiguration reports errors that no second attempt mends: a server without the
// encryption or the login that the app file wants.
func isConfiguration(err error) bool {
	var certificate *tls.CertificateVerificationError
	text := err.Error()
	return errors.As(err, &certificate) || strings.Contains(text, "does not support STARTTLS") ||
		strings.Contains(text, "does not support SMTP AUTH") || strings.Contains(text, "unencrypted connection")
}
