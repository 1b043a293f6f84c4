package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"callgate/internal/module"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Settings are the settings that an app file may give both modules. Each
// embeds them in its own.
type Settings struct {
	Timeout      module.Seconds `config:"timeout_seconds" range:"0.1,600" help:"how long a request may take, or a transfer stand still"`
	UserAgent    string         `config:"user_agent" help:"what the module calls itself"`
	AllowedHosts []string       `constraint:"allowed_hosts" help:"only these hosts are reached: names, *.names, addresses, prefixes, ports"`
	DeniedHosts  []string       `constraint:"denied_hosts" narrower:"more" help:"these hosts are never reached"`
	PrivateHosts []string       `constraint:"private_hosts" narrower:"fewer" help:"hosts, addresses or prefixes that are reached though they are not public"`
	MaxDownload  int            `constraint:"max_download_bytes" range:"1,1099511627776" help:"the largest file that is downloaded"`

	Options Options

	guard     *netguard.Guard
	private   netguard.Hosts
	namespace string
}

// Options replaces parts of the outside world. The zero value is what ships;
// tests set them.
type Options struct {
	Resolver   netguard.Resolver // of host names; nil is the system's
	RetryPause time.Duration     // before a broken download is continued; 0 is a tenth of a second
}

// DefaultMaxDownload is the largest file that is downloaded unless an app file
// says otherwise.
const DefaultMaxDownload = 2 << 30

// Prepare checks the settings of a module and makes the guard, so that a
// mistake is reported when the app is opened. Downgrade lets redirects lead
// from https to http.
func (s *Settings) Prepare(namespace string, downgrade bool) error {
	s.namespace = namespace
	var err error
	s.guard, err = netguard.New(netguard.Rules{
		AllowedHosts: s.AllowedHosts, DeniedHosts: s.DeniedHosts, Private: s.PrivateHosts,
		Downgrade: downgrade, Setting: s.Key("constraints"), Resolver: s.Options.Resolver,
	})
	if err != nil {
		return err
	}
	if s.private, err = netguard.ParseHosts(s.PrivateHosts); err != nil {
		return err
	}
	if !ValidHeaderValue(s.UserAgent) {
		return fmt.Errorf("config.user_agent: %q cannot be the value of a header", tool.Truncate(s.UserAgent))
	}
	return nil
}

// Guard returns the guard that makes every connection.
func (s *Settings) Guard() *netguard.Guard { return s.guard }

// Key returns where an app file gives the module a setting, for hints.
func (s *Settings) Key(name string) string { return "tools.modules." + s.namespace + "." + name }

// MaySendSecrets reports whether a secret of the app file may be sent to a URL:
// over https, or to a host that the app file lists as its own.
func (s *Settings) MaySendSecrets(u *url.URL) bool { return u.Scheme == "https" || s.private.Has(u) }

// TimeLimit returns the time for a call that asks for some seconds; 0 asks for
// the usual time.
func (s *Settings) TimeLimit(seconds float64) time.Duration {
	if seconds <= 0 {
		seconds = float64(s.Timeout)
	}
	return time.Duration(seconds * float64(time.Second))
}

// ParseEndpoint reads the address of a server that an app file names.
func ParseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err == nil && !isEndpoint(u) {
		err = errors.New("it must be an http or https address, without a user, a query or a fragment")
	}
	if err != nil {
		return nil, fmt.Errorf("config.endpoint: %q cannot be used: %w", tool.Truncate(text), err)
	}
	return u, nil
}

func isEndpoint(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// ValidHeaderValue reports whether a text can be the value of a header.
func ValidHeaderValue(value string) bool {
	return httpguts.ValidHeaderFieldValue(value) && len(value) <= 64<<10
}
