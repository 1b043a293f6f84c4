package http

import (
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strings"

	"callgate/internal/module"
	"callgate/internal/netguard"
	"callgate/tool"
)

// settings are what an app file may say of the module.
type settings struct {
	Timeout         module.Seconds `config:"timeout_seconds" range:"0.1,600" help:"how long a request may take, from the first connection to the last byte; of a download or upload, how long nothing may move"`
	MaxBytes        int            `config:"max_bytes" range:"1,104857600" help:"how much of a body is read, unpacked"`
	MaxRedirects    int            `config:"max_redirects" range:"0,50" help:"how many redirects are followed"`
	UserAgent       string         `config:"user_agent" help:"what the module calls itself"`
	Headers         map[string]any `config:"headers" help:"headers for each host: {api.example.com: {X-Api-Key: '{{secret.KEY}}'}}"`
	CredentialHosts []string       `config:"credential_hosts" help:"the hosts that are sent the credential as a bearer token"`
	AllowedHosts    []string       `constraint:"allowed_hosts" help:"only these hosts are reached: names, *.names, addresses or prefixes, with a port or without"`
	DeniedHosts     []string       `constraint:"denied_hosts" help:"these hosts are never reached"`
	PrivateHosts    []string       `constraint:"private_hosts" help:"hosts, addresses or prefixes that are reached though they are not public"`
	AllowedMethods  []string       `constraint:"allowed_methods" help:"only these methods are used"`
	Downgrade       bool           `constraint:"allow_downgrade" help:"redirects may lead from https to http"`
	MaxDownload     int            `constraint:"max_download_bytes" range:"1,1099511627776" help:"the largest file that is downloaded"`

	resolver netguard.Resolver

	// What Check makes of them.
	guard      *netguard.Guard
	private    netguard.Hosts
	credential netguard.Hosts
	headers    []hostHeaders
}

// hostHeaders are the headers that go to some host.
type hostHeaders struct {
	hosts  netguard.Hosts
	header nethttp.Header
}

func defaults() *settings {
	return &settings{
		Timeout:      30,
		MaxBytes:     10 << 20,
		MaxRedirects: 10,
		UserAgent:    "callgate",
		MaxDownload:  2 << 30,
	}
}

// Check reads the rules, so that what is wrong with them is said when the app
// is opened.
func (s *settings) Check() error {
	var err error
	s.guard, err = netguard.New(netguard.Rules{
		AllowedHosts: s.AllowedHosts, DeniedHosts: s.DeniedHosts, Private: s.PrivateHosts,
		Downgrade: s.Downgrade, Setting: "tools.modules." + Namespace + ".constraints", Resolver: s.resolver,
	})
	if err != nil {
		return err
	}
	if s.private, err = netguard.ParseHosts(s.PrivateHosts); err != nil {
		return err
	}
	if s.credential, err = netguard.ParseHosts(s.CredentialHosts); err != nil {
		return fmt.Errorf("config.credential_hosts: %w", err)
	}
	for i, m := range s.AllowedMethods {
		s.AllowedMethods[i] = strings.ToUpper(m)
		if !validName(m) {
			return fmt.Errorf("constraints.allowed_methods: %q is not a method", tool.Truncate(m))
		}
	}
	if !validValue(s.UserAgent) {
		return fmt.Errorf("config.user_agent: %q cannot stand in a header", tool.Truncate(s.UserAgent))
	}
	return s.readHeaders()
}

func (s *settings) readHeaders() error {
	s.headers = nil
	for _, host := range slices.Sorted(maps.Keys(s.Headers)) {
		hosts, err := netguard.ParseHosts([]string{host})
		if err != nil {
			return fmt.Errorf("config.headers: %w", err)
		}
		given, ok := s.Headers[host].(map[string]any)
		if !ok {
			return fmt.Errorf("config.headers.%s must hold names and their texts, as in {X-Api-Key: text}; headers are given for each host", tool.Truncate(host))
		}
		header := nethttp.Header{}
		for name, value := range given {
			text, ok := value.(string)
			if !ok {
				return fmt.Errorf("config.headers.%s.%s must be a text", tool.Truncate(host), tool.Truncate(name))
			}
			if err := fitHeader(name, text); err != nil {
				return fmt.Errorf("config.headers.%s: %w", tool.Truncate(host), err)
			}
			header.Set(name, text)
		}
		s.headers = append(s.headers, hostHeaders{hosts, header})
	}
	return nil
}

// addCredentials adds what the app gives to the host of a request: its headers, and
// the credential. It returns words where something was held back.
func (s *settings) addCredentials(r *nethttp.Request, credential string) (warning string) {
	own := nethttp.Header{}
	for _, h := range s.headers {
		if h.hosts.Has(r.URL) {
			maps.Copy(own, h.header)
		}
	}
	if credential != "" && s.credential.Has(r.URL) && own.Get("Authorization") == "" {
		own.Set("Authorization", "Bearer "+credential)
	}
	if len(own) == 0 {
		return ""
	}
	if r.URL.Scheme != "https" && !s.private.Has(r.URL) {
		return "what the app file sends to " + r.URL.Hostname() + " (headers, credential) was left out, because the request is plain http; use https, or let the app file list the host under private_hosts"
	}
	maps.Copy(r.Header, own)
	return ""
}
