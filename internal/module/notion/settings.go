package notion

import (
	"net/http"
	"net/url"

	"callgate/internal/module/fetch"
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
	u, err := fetch.ParseEndpoint(s.Endpoint)
	if err != nil {
		return err
	}
	s.endpoint = u
	return nil
}

// client makes the client of the settings. It follows no redirects, since the API has none and
// a token must not follow one.
func (s *settings) client() *http.Client { return s.Guard().Client(0) }
