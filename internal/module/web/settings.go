package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"callgate/internal/module"
	"callgate/internal/module/web/searchengine"
	"callgate/internal/netguard"
	"callgate/tool"
)

// settings are what an app file may say of the module.
type settings struct {
	Engine       string         `config:"engine" oneof:"duckduckgo brave searxng tavily" help:"who searches; brave and tavily want a key, which the module's credential names, searxng an endpoint"`
	Endpoint     string         `config:"endpoint" help:"where the search engine is reached, if not at its usual address"`
	Timeout      module.Seconds `config:"timeout_seconds" range:"0.1,600" help:"how long a page may take; of a download, how long nothing may move"`
	CacheMinutes float64        `config:"cache_minutes" range:"0,1440" help:"how long a page is shown again without asking its server; 0 keeps none"`
	Robots       bool           `config:"robots" help:"keep to robots.txt when pages are read"`
	Delay        module.Seconds `config:"delay_seconds" range:"0,60" help:"how much time lies between two requests to one host"`
	UserAgent    string         `config:"user_agent" help:"what the module calls itself"`
	MaxBytes     int            `config:"max_bytes" range:"1024,33554432" help:"how much of a page is read, unpacked"`
	AllowedHosts []string       `constraint:"allowed_hosts" help:"only these hosts are reached: names, *.names, addresses or prefixes, with a port or without; the search engine is one, too"`
	DeniedHosts  []string       `constraint:"denied_hosts" help:"these hosts are never reached"`
	PrivateHosts []string       `constraint:"private_hosts" help:"hosts, addresses or prefixes that are reached though they are not public"`
	MaxDownload  int            `constraint:"max_download_bytes" range:"1,1099511627776" help:"the largest file that is downloaded"`

	resolver netguard.Resolver

	// What Check makes of them.
	guard    *netguard.Guard
	private  netguard.Hosts
	engine   searchengine.Engine
	endpoint *url.URL
	rules    string // what a page that is kept depends on
}

func defaults() *settings {
	return &settings{
		Engine:       "duckduckgo",
		Timeout:      20,
		CacheMinutes: 15,
		Robots:       true,
		UserAgent:    "Mozilla/5.0 (compatible; callgate/1.0)",
		MaxBytes:     10 << 20,
		MaxDownload:  2 << 30,
	}
}

// Check reads the rules, so that what is wrong with them is said when the app
// is opened.
func (s *settings) Check() error {
	var err error
	s.guard, err = netguard.New(netguard.Rules{
		AllowedHosts: s.AllowedHosts, DeniedHosts: s.DeniedHosts, Private: s.PrivateHosts,
		Setting: "tools.modules." + Namespace + ".constraints", Resolver: s.resolver,
	})
	if err != nil {
		return err
	}
	if s.private, err = netguard.ParseHosts(s.PrivateHosts); err != nil {
		return err
	}
	if !httpguts.ValidHeaderFieldValue(s.UserAgent) || s.UserAgent == "" {
		return fmt.Errorf("config.user_agent: %q cannot stand in a header", tool.Truncate(s.UserAgent))
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v %d", s.AllowedHosts, s.DeniedHosts, s.PrivateHosts, s.UserAgent, s.Robots, s.MaxBytes))
	s.rules = hex.EncodeToString(sum[:8])
	return s.readEngine()
}

func (s *settings) readEngine() error {
	s.engine = searchengine.ByName(s.Engine)
	at := s.Endpoint
	if at == "" {
		at = s.engine.Endpoint()
	}
	if at == "" {
		return fmt.Errorf("config.engine is %s, which is wherever you run it: config.endpoint must say where, as in https://search.example.com", s.Engine)
	}
	u, err := url.Parse(at)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("it must be an http or https address, without a user, a query or a fragment")
	}
	if err != nil {
		return fmt.Errorf("config.endpoint: %q cannot be used: %w", tool.Truncate(at), err)
	}
	s.endpoint = u
	return nil
}

// agent is the name that robots.txt would know the module by.
func (s *settings) agent() string {
	name := s.UserAgent
	if _, own, ok := strings.Cut(name, "compatible;"); ok {
		name = own
	}
	name = strings.TrimSpace(name)
	if end := strings.IndexAny(name, "/ ;()"); end >= 0 {
		name = name[:end]
	}
	return name
}
