package http

import (
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strings"

	"callgate/internal/module/fetch"
	"callgate/internal/netguard"
	"callgate/tool"
)

// settings are what an app file may say about the module.
type settings struct {
	fetch.Settings

	MaxBytes        int            `config:"max_bytes" range:"1,104857600" help:"how much of a body is read, unpacked"`
	MaxRedirects    int            `config:"max_redirects" range:"0,50" help:"how many redirects are followed"`
	Headers         map[string]any `config:"headers" help:"headers for each host: {api.example.com: {X-Api-Key: '{{secret.KEY}}'}}"`
	CredentialHosts []string       `config:"credential_hosts" narrower:"fewer" help:"the hosts that are sent the credential as a bearer token"`
	AllowedMethods  []string       `constraint:"allowed_methods" help:"only these methods are used"`
	Downgrade       bool           `constraint:"allow_downgrade" narrower:"false" help:"redirects may lead from https to http"`

	// Made by Check.
	credential netguard.Hosts
	headers    []hostHeaders
}

// hostHeaders are the headers of an app file for some host.
type hostHeaders struct {
	hosts  netguard.Hosts
	header nethttp.Header
}

func defaultSettings(opt fetch.Options) *settings {
	return &settings{
		Settings: fetch.Settings{
			Timeout: 30, UserAgent: "callgate", MaxDownload: fetch.DefaultMaxDownload, Options: opt,
		},
		MaxBytes:     10 << 20,
		MaxRedirects: 10,
	}
}

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *settings) Check() error {
	if err := s.Prepare(Namespace, s.Downgrade); err != nil {
		return err
	}
	var err error
	if s.credential, err = netguard.ParseHosts(s.CredentialHosts); err != nil {
		return fmt.Errorf("config.credential_hosts: %w", err)
	}
	for i, m := range s.AllowedMethods {
		s.AllowedMethods[i] = strings.ToUpper(m)
		if !validName(m) {
			return fmt.Errorf("constraints.allowed_methods: %q is not a method", tool.Truncate(m))
		}
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
		header, err := readHeader("config.headers."+tool.Truncate(host), s.Headers[host])
		if err != nil {
			return err
		}
		s.headers = append(s.headers, hostHeaders{hosts, header})
	}
	return nil
}

// readHeader reads the headers of one host; key is the setting that holds them.
func readHeader(key string, given any) (nethttp.Header, error) {
	fields, ok := given.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s must hold names and their texts, as in {X-Api-Key: text}; "+
			"headers are given for each host", key)
	}
	header := nethttp.Header{}
	for name, value := range fields {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("%s.%s must be a text", key, tool.Truncate(name))
		}
		if err := checkHeader(name, text); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		header.Set(name, text)
	}
	return header, nil
}

// client makes the client of the settings.
func (s *settings) client() *nethttp.Client { return s.Guard().Client(s.MaxRedirects) }

// addSecrets adds what the app file gives the host of a request: its headers,
// and the credential. The warning says what was left out.
func (s *settings) addSecrets(r *nethttp.Request, credential string) (warning string) {
	secrets := nethttp.Header{}
	for _, h := range s.headers {
		if h.hosts.Has(r.URL) {
			maps.Copy(secrets, h.header)
		}
	}
	if credential != "" && s.credential.Has(r.URL) && secrets.Get("Authorization") == "" {
		secrets.Set("Authorization", "Bearer "+credential)
	}
	if len(secrets) == 0 {
		return ""
	}
	if !s.MaySendSecrets(r.URL) {
		return "what the app file sends to " + r.URL.Hostname() + " (headers, credential) was left out, because " +
			"the request is plain http; use https, or let the app file list the host under private_hosts"
	}
	maps.Copy(r.Header, secrets)
	return ""
}
