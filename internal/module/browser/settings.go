package browser

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/browser/page"
	"callgate/internal/module/browser/pool"
	"callgate/internal/netguard"
)

// Settings are what an app file may set for the browser.
type Settings struct {
	Executable string         `config:"executable" help:"the browser to start; by default the first Chromium or Chrome that is installed"`
	Timeout    module.Seconds `config:"timeout_seconds" range:"1,300" help:"how long a page may take"`
	Viewport   string         `config:"viewport" help:"the size of the window, as 1280x800"`
	UserAgent  string         `config:"user_agent" help:"what the browser calls itself; by default what it is"`
	Headless   bool           `config:"headless" help:"whether it runs without a window"`
	// Unsandboxed is for containers, where neither Chromium nor Callgate can make a sandbox.
	Unsandboxed bool   `config:"unsandboxed" narrower:"false" help:"the browser runs without any sandbox, where the system forbids it one: a page that takes it over has what Callgate has"`
	Locale      string `config:"locale" help:"the language that pages are asked for, as en-US"`

	AllowedHosts []string `constraint:"allowed_hosts" help:"only these hosts are reached, by pages and what they load; empty: all public ones"`
	DeniedHosts  []string `constraint:"denied_hosts" narrower:"more" help:"these hosts never are"`
	PrivateHosts []string `constraint:"private_hosts" narrower:"fewer" help:"hosts, addresses or prefixes that may be reached though they are not public"`
	MaxTabs      int      `constraint:"max_tabs" range:"1,50" help:"how many tabs a session may have open"`
	MaxDownload  int      `constraint:"max_download_bytes" range:"0,10737418240" help:"the largest file that may be downloaded; 0: none"`
}

func defaults() *Settings {
	return &Settings{Timeout: 30, Viewport: "1280x800", Headless: true, MaxTabs: 8, MaxDownload: 100 << 20}
}

var localeForm = regexp.MustCompile(`^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$`)

// Check checks the settings as a whole.
func (s *Settings) Check() error {
	if _, _, err := s.size(); err != nil {
		return err
	}
	switch {
	case s.Locale != "" && !localeForm.MatchString(s.Locale):
		return fmt.Errorf("config.locale: %q is not a language like en-US or fr", s.Locale)
	case strings.ContainsAny(s.UserAgent, "\r\n\x00"):
		return errors.New("config.user_agent: it must be one line")
	}
	_, err := netguard.New(s.rules())
	return err
}

// size parses the viewport.
func (s *Settings) size() (width, height int, err error) {
	n, err := fmt.Sscanf(s.Viewport+"\n", "%dx%d\n", &width, &height)
	if err != nil || n != 2 || width < 200 || width > 4096 || height < 200 || height > 4096 {
		return 0, 0, fmt.Errorf("config.viewport: %q is not a size like 1280x800, from 200x200 to 4096x4096", s.Viewport)
	}
	return width, height, nil
}

func (s *Settings) rules() netguard.Rules {
	return netguard.Rules{
		AllowedHosts: s.AllowedHosts, DeniedHosts: s.DeniedHosts, Private: s.PrivateHosts,
		Setting: "tools.modules." + Namespace + ".constraints",
	}
}

// options returns what the settings ask of a browser. A window has the size that its
// user gives it.
func (s *Settings) options() (pool.Options, error) {
	width, height, err := s.size()
	if err != nil {
		return pool.Options{}, err
	}
	if !s.Headless {
		width, height = 0, 0
	}
	return pool.Options{
		Executable: s.Executable, Visible: !s.Headless, Unsandboxed: s.Unsandboxed, Rules: s.rules(),
		Profile: page.Options{
			Width: width, Height: height, UserAgent: s.UserAgent, Locale: s.Locale,
			MaxTabs: s.MaxTabs, MaxDownload: int64(s.MaxDownload),
		},
	}, nil
}

func (s *Settings) timeout() time.Duration {
	return time.Duration(float64(s.Timeout) * float64(time.Second))
}
