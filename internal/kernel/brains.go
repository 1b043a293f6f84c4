package kernel

import (
	"cmp"

	"callgate/internal/agent"
	"callgate/internal/agent/calltext"
	"callgate/internal/app"
	"callgate/internal/provider"
	"callgate/internal/provider/offline"
	"callgate/llm"
	"callgate/tool"
)

// BrainInfo is what is known of the model behind an agent.
type BrainInfo struct {
	Provider    string `json:"provider"`
	Model       string `json:"model"`
	Window      int    `json:"window"` // tokens; 0: not known
	NativeTools bool   `json:"native_tools"`
	Offline     bool   `json:"offline,omitempty"` // no language model at all
}

// offlineWindow is large enough that the offline brain, which reads no prompt,
// is given whole schemas.
const offlineWindow = 128_000

// brain makes the model that an app file describes. Nothing is dialled yet.
func (k *Kernel) brain(b *app.Model, s *Session) (*agent.ModelConfig, BrainInfo, error) {
	if b == nil || b.Provider == app.Offline {
		return &agent.ModelConfig{Model: &offline.Model{Find: s.findFor}}, BrainInfo{Provider: app.Offline, Model: app.Offline, Window: offlineWindow, NativeTools: true, Offline: true}, nil
	}
	key, err := k.brainKey(b)
	if err != nil {
		return nil, BrainInfo{}, err
	}
	headers := make(map[string]string, len(b.Headers))
	for name, value := range b.Headers {
		if headers[name], err = k.secrets.Expand(value); err != nil {
			return nil, BrainInfo{}, err
		}
	}
	model, info, err := k.models.Open(provider.Config{
		Provider: b.Provider, Backend: provider.Backend(b.Backend), Model: b.Name, BaseURL: b.BaseURL, Key: key,
		Headers: headers, Timeout: b.Timeout, NativeTools: b.NativeTools,
	})
	if err != nil {
		return nil, BrainInfo{}, err
	}
	made := &agent.ModelConfig{Model: model, Settings: llm.Request{MaxTokens: b.MaxTokens, Temperature: b.Temperature, TopP: b.TopP, Effort: b.Effort}}
	if !info.NativeTools {
		made.Parser = wordReader{s.isTool}
	}
	if b.Fallback != nil {
		if made.Fallback, _, err = k.brain(b.Fallback, s); err != nil {
			return nil, BrainInfo{}, err
		}
	}
	return made, BrainInfo{
		Provider: info.Provider, Model: info.Model, NativeTools: info.NativeTools, Window: cmp.Or(b.Window, info.Entry.Window),
	}, nil
}

// brainKey is the key of a brain: its credential's value, or what its config
// says. A credential without a value is passed over where the config, or the
// environment, may still know one.
func (k *Kernel) brainKey(b *app.Model) (string, error) {
	if b.Credential != "" {
		values, err := k.secrets.Values([]string{b.Credential})
		if err == nil {
			return values[b.Credential], nil
		}
		if tool.KindOf(err) != tool.Unavailable {
			return "", err
		}
	}
	return k.secrets.Expand(b.Key)
}

// wordReader finds calls in the words of a model that is given no tools by its
// provider.
type wordReader struct{ known func(string) bool }

// Start begins an answer.
func (w wordReader) Start() (func(string) string, func() (string, []llm.ToolCall)) {
	p := &calltext.Parser{Known: w.known}
	return p.Write, p.Close
}
