package email

import (
	"cmp"
	"fmt"
	"net/mail"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/email/mailserver"
	"callgate/internal/netguard"
	"callgate/tool"
)

// settings are what an app file may say about the module.
type settings struct {
	Address  string         `config:"address" help:"the sender: ann@example.com, or Ann Lee <ann@example.com>"`
	IMAP     string         `config:"imap" help:"the server of the mailbox: host or host:port"`
	IMAPTLS  string         `config:"imap_tls" oneof:"implicit starttls none" help:"how its connection is encrypted; none is for this machine"`
	SMTP     string         `config:"smtp" help:"the server that sends: host or host:port"`
	SMTPTLS  string         `config:"smtp_tls" oneof:"starttls implicit none" help:"how its connection is encrypted; none is for this machine"`
	Username string         `config:"username" help:"for the login; the address unless given"`
	Auth     string         `config:"auth" oneof:"password oauth" help:"what the credential is: a password, or a token of OAuth"`
	Drafts   string         `config:"drafts" help:"the folder for drafts; found by itself unless given"`
	Sent     string         `config:"sent" help:"the folder for copies of what was sent; found by itself unless given; none keeps no copy"`
	Timeout  module.Seconds `config:"timeout_seconds" range:"0.1,600" help:"how long a call may take"`
	MaxBytes int            `config:"max_bytes" range:"1024,4194304" help:"how much text of messages one call returns"`

	Recipients    []string `constraint:"allowed_recipients" help:"only these are written to: addresses, domains, *.domains"`
	MaxRecipients int      `constraint:"max_recipients" range:"1,1000" help:"the most receivers of one message"`
	MaxMessage    int      `constraint:"max_message_bytes" range:"1024,536870912" help:"the largest message, with what is attached"`
	DraftsOnly    bool     `constraint:"drafts_only" help:"nothing is sent: a person sends the drafts"`
	PrivateHosts  []string `constraint:"private_hosts" narrower:"fewer" help:"servers that are reached though they are not public"`

	options options
	account
}

// account is what Check reads from the settings.
type account struct {
	from       *mail.Address // nil: none is given
	username   string
	imap, smtp mailserver.Address
	guard      *netguard.Guard
}

func defaultSettings(o options) *settings {
	s := &settings{
		IMAPTLS: mailserver.Implicit, SMTPTLS: mailserver.StartTLS, Auth: "password", Timeout: 60, MaxBytes: 200_000,
		MaxRecipients: 20, MaxMessage: 25 << 20, options: o,
	}
	return s
}

// Check reads the settings, so that a mistake is reported when the app is opened.
func (s *settings) Check() (err error) {
	if s.Address != "" {
		if s.from, err = parseAddress(s.Address); err != nil {
			return fmt.Errorf("config.address: %w", err)
		}
		s.username = s.from.Address
	}
	s.username = cmp.Or(s.Username, s.username)
	for _, server := range []struct {
		key, text, how string
		ports          map[string]int
		into           *mailserver.Address
	}{
		{"imap", s.IMAP, s.IMAPTLS, map[string]int{"implicit": 993, "starttls": 143, "none": 143}, &s.imap},
		{"smtp", s.SMTP, s.SMTPTLS, map[string]int{"implicit": 465, "starttls": 587, "none": 25}, &s.smtp},
	} {
		if server.text == "" {
			continue
		}
		if *server.into, err = mailserver.ParseAddress(server.text, server.how, server.ports); err != nil {
			return fmt.Errorf("config.%s: %w", server.key, err)
		}
	}
	for _, one := range s.Recipients {
		if bare := strings.TrimPrefix(one, "*."); bare == "" || strings.ContainsAny(bare, " *<>,") {
			return fmt.Errorf("constraints.allowed_recipients: %q is no address and no domain", tool.Truncate(one))
		}
	}
	s.guard, err = netguard.New(netguard.Rules{
		Private: s.PrivateHosts, Setting: settingsKey + ".constraints", Resolver: s.options.resolver,
	})
	return err
}

// mayWriteTo reports whether the app file lets an address be written to.
func (s *settings) mayWriteTo(address string) bool {
	address = strings.ToLower(address)
	domain := address[strings.LastIndexByte(address, '@')+1:]
	for _, one := range s.Recipients {
		one = strings.ToLower(one)
		if under, ok := strings.CutPrefix(one, "*."); ok {
			if strings.HasSuffix(domain, "."+under) {
				return true
			}
			continue
		}
		if one == address || strings.TrimPrefix(one, "@") == domain {
			return true
		}
	}
	return len(s.Recipients) == 0
}

// parseAddress reads one address, with or without a name. A text with control characters
// is none.
func parseAddress(text string) (*mail.Address, error) {
	if i := strings.IndexFunc(text, isControl); i >= 0 {
		return nil, fmt.Errorf("%q holds a line break or another control character", tool.Truncate(text))
	}
	a, err := mail.ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no address of mail", tool.Truncate(text))
	}
	if strings.ContainsFunc(a.Name+a.Address, isControl) { // an encoded word may hold what the text does not
		return nil, fmt.Errorf("%q holds a line break or another control character", tool.Truncate(text))
	}
	return a, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 }
