package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/module/web/searchengine"
)

// settings are what an app file may say about the module.
type settings struct {
	Engine   string `config:"engine" oneof:"duckduckgo brave searxng tavily" help:"brave and tavily need a credential, searxng an endpoint"`
	Endpoint string `config:"endpoint" help:"where the search engine is reached, if not at its usual address"`

	fetch.Settings

	CacheMinutes float64        `config:"cache_minutes" range:"0,1440" help:"how long a page is shown again without asking; 0 keeps none"`
	Robots       bool           `config:"robots" help:"keep to robots.txt when pages are read"`
	Delay        module.Seconds `config:"delay_seconds" range:"0,60" help:"how much time lies between two requests to one host"`
	MaxBytes     int            `config:"max_bytes" range:"1024,33554432" help:"how much of a page is read, unpacked"`

	// Made by Check.
	engine   searchengine.Engine
	endpoint *url.URL
	rules    string // a hash of what the content of a kept page depends on
}

func defaultSettings(opt fetch.Options) *settings {
	return &settings{
		Engine: "duckduckgo",
		Settings: fetch.Settings{
			Timeout: 20, UserAgent: "Mozilla/5.0 (compatible; callgate/1.0)",
			MaxDownload: fetch.DefaultMaxDownload, Options: opt,
		},
		CacheMinutes: 15,
		Robots:       true,
		MaxBytes:     10 << 20,
	}
}

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *settings) Check() error {
	if err := s.Prepare(Namespace, false); err != nil {
		return err
	}
	if s.UserAgent == "" {
		return errors.New("config.user_agent must not be empty")
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v %d",
		s.AllowedHosts, s.DeniedHosts, s.PrivateHosts, s.UserAgent, s.Robots, s.MaxBytes))
	s.rules = hex.EncodeToString(sum[:8])
	return s.readEngine()
}

func (s *settings) readEngine() error {
	s.engine = searchengine.ByName(s.Engine)
	address := s.Endpoint
	if address == "" {
		address = s.engine.Endpoint()
	}
	if address == "" {
		return fmt.Errorf("config.engine is %s, which has no address of its own: config.endpoint must give one, "+
			"as in https://search.example.com", s.Engine)
	}
	u, err := fetch.ParseEndpoint(address)
	if err != nil {
		return err
	}
	s.endpoint = u
	return nil
}

// client makes the client of the settings.
func (s *settings) client() *client { return &client{Client: s.Guard().Client(0)} }

// agent is the name by which robots.txt knows the module.
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

// delay is the time between two requests to one host.
func (s *settings) delay() time.Duration {
	return time.Duration(float64(s.Delay) * float64(time.Second))
}

// cacheTime is how long a page is shown again where its server does not say.
func (s *settings) cacheTime() time.Duration {
	return time.Duration(s.CacheMinutes * float64(time.Minute))
}
