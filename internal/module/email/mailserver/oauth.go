package mailserver

import (
	"slices"

	"github.com/emersion/go-sasl"
	"github.com/wneessen/go-mail/smtp"
)

const xoauth2 = "XOAUTH2"

// bearer is the first answer of the mechanism XOAUTH2, which Google and Microsoft know.
func bearer(username, token string) []byte {
	return []byte("user=" + username + "\x01auth=Bearer " + token + "\x01\x01")
}

// imapXOAuth2 is XOAUTH2 for a mailbox.
type imapXOAuth2 struct{ username, token string }

var _ sasl.Client = imapXOAuth2{}

func (c imapXOAuth2) Start() (string, []byte, error) {
	return xoauth2, bearer(c.username, c.token), nil
}

// Next answers the challenge of a server that refuses: it says why, and wants an answer
// before it gives its refusal.
func (c imapXOAuth2) Next([]byte) ([]byte, error) { return []byte{}, nil }

// smtpBearer logs in with a token by the mechanism that a server knows.
type smtpBearer struct {
	username, token string
	to              Address
}

var _ smtp.Auth = smtpBearer{}

func (c smtpBearer) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !slices.Contains(server.Auth, xoauth2) && slices.Contains(server.Auth, sasl.OAuthBearer) {
		return sasl.NewOAuthBearerClient(&sasl.OAuthBearerOptions{
			Username: c.username, Token: c.token, Host: c.to.Host, Port: c.to.Port,
		}).Start()
	}
	return xoauth2, bearer(c.username, c.token), nil
}

func (c smtpBearer) Next(_ []byte, more bool) ([]byte, error) {
	if more {
		return []byte{}, nil
	}
	return nil, nil
}
