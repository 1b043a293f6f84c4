package notion

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"callgate/internal/module/fetch"
	"callgate/tool"
)

// settings are what an app file may say about the module.
type settings struct {
	Endpoint string `config:"endpoint" help:"where the API is reached, if not at https://api.notion.com"`

	fetch.Settings

	MaxBytes int `config:"max_bytes" range:"1024,1048576" help:"how much text of a page is shown"`

	endpoint *url.URL // made by Check
}

func defaultSettings(opt fetch.Options) *settings {
	return &settings{
		Endpoint: "https://api.notion.com",
		Settings: fetch.Settings{
			Timeout: 30, UserAgent: "callgate", MaxDownload: fetch.DefaultMaxDownload, Options: opt,
		},
		MaxBytes: 64 << 10,
	}
}

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *settings) Check() error {
	if err := s.Prepare(Namespace, false); err != nil {
		return err
	}
	u, err := url.Parse(strings.TrimRight(s.Endpoint, "/"))
	if err == nil && (u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("it must be an http or https address, without a user, a query or a fragment")
	}
	if err != nil {
		return fmt.Errorf("config.endpoint: %q cannot be used: %w", tool.Truncate(s.Endpoint), err)
	}
	s.endpoint = u
	return nil
}

// client makes the client of the settings. It follows no redirects, since the API has none and
// a token must not follow one.
func (s *settings) client() *http.Client { return s.Guard().Client(0) }
