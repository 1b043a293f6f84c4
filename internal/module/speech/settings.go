package speech

import (
	"net/http"
	"net/url"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
)

// endpointSettings are what both modules may be told of their endpoint.
type endpointSettings struct {
	Endpoint string `config:"endpoint" help:"where an OpenAI-compatible speech API is reached, as https://api.openai.com/v1"`
	Model    string `config:"model" help:"the model that the endpoint is asked for"`

	fetch.Settings

	endpoint *url.URL // made by prepare; nil: none
}

func (s *endpointSettings) prepare(namespace string) error {
	if err := s.Prepare(namespace, false); err != nil {
		return err
	}
	if s.endpoint = nil; s.Endpoint == "" {
		return nil
	}
	u, err := fetch.ParseEndpoint(s.Endpoint)
	if err != nil {
		return err
	}
	s.endpoint = u
	return nil
}

// client makes the client of the settings. It follows no redirects, so that a key follows none.
func (s *endpointSettings) client() *http.Client { return s.Guard().Client(0) }

func fetchDefaults(timeout module.Seconds) fetch.Settings {
	return fetch.Settings{Timeout: timeout, UserAgent: "callgate", MaxDownload: 64 << 20}
}

// speakingSettings are what an app file may say about tts.
type speakingSettings struct {
	endpointSettings

	Voice string `config:"voice" help:"the voice of a call that names none"`
}

func speakingDefaults() *speakingSettings {
	return &speakingSettings{endpointSettings: endpointSettings{Model: "gpt-4o-mini-tts", Settings: fetchDefaults(120)}}
}

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *speakingSettings) Check() error { return s.prepare(speaking) }

// hearingSettings are what an app file may say about stt.
type hearingSettings struct {
	endpointSettings

	MaxUpload int `constraint:"max_upload_bytes" range:"1,1073741824" help:"the largest recording that is sent"`
}

func hearingDefaults() *hearingSettings {
	return &hearingSettings{
		endpointSettings: endpointSettings{Model: "whisper-1", Settings: fetchDefaults(300)}, MaxUpload: 25 << 20,
	}
}

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *hearingSettings) Check() error { return s.prepare(hearing) }
