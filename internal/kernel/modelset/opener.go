// Package modelset opens the models that an app file names. Law: a model is
// opened with its address, key and headers known; connections are shared by
// provider and model; its requests wait for their turn within the limits of the
// app for which it is opened, and are charged to its budget; nothing is dialled
// before it is asked.
package modelset

import (
	"cmp"
	"context"
	"sync"
	"time"

	"callgate/internal/agent"
	"callgate/internal/agent/calltext"
	"callgate/internal/app"
	"callgate/internal/document"
	"callgate/internal/provider"
	"callgate/internal/provider/budget"
	"callgate/internal/provider/offline"
	"callgate/internal/quota"
	"callgate/internal/secret/scope"
	"callgate/internal/user"
	"callgate/llm"
	"callgate/tool"
)

// Info is what is known of the model behind an agent.
type Info struct {
	Provider    string `json:"provider"`
	Model       string `json:"model"`
	Window      int    `json:"window"` // tokens; 0: not known
	NativeTools bool   `json:"native_tools"`
	ToolsWhy    string `json:"tools_why,omitempty"` // why they are native, or are not; "": nothing else is possible
	Images      bool   `json:"-"`                   // it is known to read images
	Offline     bool   `json:"offline,omitempty"`   // no language model at all
}

// Secrets gives the values of secrets.
type Secrets interface {
	Expand(text string) (string, error)
	Values(names []string) (map[string]string, error)
	ValuesFor(user string, refs []string) (map[string]string, error)
}

// Tools are the tools of the session for which a model is opened.
type Tools interface {
	// Known reports whether a name, as a model may write it, is a tool's: calls
	// are read out of the text of a model that gets no tools from its provider.
	Known(name string) bool
	// Required returns the required parameters of a tool, in their order.
	Required(name string) []string
	// Find returns the tools that a text means, for the offline model.
	Find(ctx context.Context, text string) []offline.ToolMatch
}

// Opener opens models. The zero value but for Secrets works.
type Opener struct {
	Secrets Secrets
	// Documents keep what servers said of their models; nil: it is known as long as the opener lives.
	Documents  document.Store
	Now        func() time.Time          // may be nil
	Unattended func(session string) bool // nobody waits for its conversation; may be nil
	Users      *quota.Limiter            // what users may spend; may be nil

	pool       provider.Pool
	supports   supports
	spent      budget.Ledger
	openLedger sync.Once
	asked      asked
}

// offlineWindow is large enough that the offline model, which reads no prompt,
// is given whole schemas.
const offlineWindow = 128_000

// Describe says which model an app file describes. It needs no key, opens
// nothing, and asks nobody.
func (o *Opener) Describe(m *app.Model) (Info, error) {
	if m == nil || m.Provider == app.Offline {
		return Info{
			Provider: app.Offline, Model: app.Offline, Window: offlineWindow, NativeTools: true, Offline: true,
		}, nil
	}
	info, err := provider.Describe(provider.Config{
		Provider: m.Provider, Backend: provider.Backend(m.Backend), Model: m.Name, BaseURL: m.BaseURL,
		NativeTools: m.NativeTools, Catalog: m.Catalog,
	})
	if err != nil {
		return Info{}, err
	}
	return o.infoOf(m, info), nil
}

func (o *Opener) infoOf(m *app.Model, info provider.Info) Info {
	made := Info{
		Provider: info.Provider, Model: info.Model, Window: cmp.Or(m.Window, info.Entry.Window),
		Images: info.Entry.Vision,
	}
	if m.Vision.Reads != nil {
		made.Images = *m.Vision.Reads
	}
	o.decideTools(m, info, &made)
	return made
}

// Use says for what models are opened.
type Use struct {
	App      *app.App     // whose limits count; nil: none's
	User     string       // who asks, as principals have it
	Priority llm.Priority // of the requests; "": interactive
	// Connect is how long a connection may take; 0: as long as it does.
	Connect time.Duration
}

// UseFor is what a user of an app waits for, or nobody.
func UseFor(a *app.App, user string, unattended bool) Use {
	if unattended {
		return Use{App: a, User: user, Priority: llm.PriorityBackground}
	}
	return Use{App: a, User: user, Priority: llm.PriorityInteractive}
}

// UseIn is for what a call of a session with an app opens models.
func (o *Opener) UseIn(a *app.App, call tool.Call) Use {
	p := call.Principal
	return UseFor(a, p.User, p.Daemon || o.Unattended != nil && o.Unattended(p.Session))
}

// Open makes the model that an app file describes, with its fallbacks. Nothing
// is dialled yet.
func (o *Opener) Open(u Use, m *app.Model, tools Tools) (*agent.ModelConfig, Info, error) {
	if m == nil || m.Provider == app.Offline {
		info, err := o.Describe(m)
		return &agent.ModelConfig{Model: &offline.Model{Find: tools.Find}}, info, err
	}
	model, at, err := o.dial(u, m)
	if err != nil {
		return nil, Info{}, err
	}
	info := o.infoOf(m, at)
	made := &agent.ModelConfig{Model: model, Settings: llm.Request{
		MaxTokens: m.MaxTokens, Temperature: m.Temperature, TopP: m.TopP, Effort: m.Effort, ImageDetail: m.Vision.Detail,
	}}
	made.Pictures = agent.Pictures{Most: m.Vision.Most, None: !info.Images && (at.Entry.Known || m.Vision.Reads != nil)}
	if info.NativeTools {
		made.Detector, made.ToolsRefused = textCalls{known: tools.Known}, o.refused(m, at)
	} else {
		made.Parser = textCalls{tools.Known, tools.Required}
	}
	if m.Fallback != nil {
		if made.Fallback, _, err = o.Open(u, m.Fallback, tools); err != nil {
			// A fallback is asked rarely: one without a key does not keep its model
			// from answering, and says why when it is asked.
			made.Fallback = &agent.ModelConfig{Model: missing{err}}
		}
	}
	return made, info, nil
}

// Sizes is how much a model reads and writes, in tokens; 0: not known.
type Sizes struct{ Window, MaxOutput int }

// Connect makes the model that an app file describes, without its fallbacks and without tools.
// Nothing is dialled yet.
func (o *Opener) Connect(u Use, m *app.Model) (llm.Model, Sizes, error) {
	model, at, err := o.dial(u, m)
	return model, Sizes{Window: cmp.Or(m.Window, at.Entry.Window), MaxOutput: at.Entry.MaxOutput}, err
}

// missing is a model that could not be opened.
type missing struct{ err error }

// Generate returns why the model could not be opened.
func (m missing) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return nil, &llm.Error{Kind: llm.Auth, Message: m.err.Error(), Err: m.err}
}

// dial makes the connection to a model's provider.
func (o *Opener) dial(u Use, m *app.Model) (llm.Model, provider.Info, error) {
	cfg, err := o.config(u, m)
	if err != nil {
		return nil, provider.Info{}, err
	}
	cfg.Turns.Priority, cfg.ConnectTimeout = u.Priority, u.Connect
	if u.App != nil {
		t := &cfg.Turns
		t.Key, t.Model, t.Bounds = u.App.Providers.Of(provider.CanonicalName, m.Provider, m.Name)
	}
	model, at, err := o.pool.Open(cfg)
	if err != nil {
		return nil, at, err
	}
	return &countedModel{o.charged(u, model, at), at, &o.asked}, at, nil
}

// config is how a model's provider is reached, with its key.
func (o *Opener) config(u Use, m *app.Model) (cfg provider.Config, err error) {
	key, err := o.key(user.Name(u.User), m)
	if err != nil {
		return cfg, err
	}
	headers := make(map[string]string, len(m.Headers))
	for name, value := range m.Headers {
		if headers[name], err = o.Secrets.Expand(value); err != nil {
			return cfg, err
		}
	}
	return provider.Config{
		Provider: m.Provider, Backend: provider.Backend(m.Backend), Model: m.Name, BaseURL: m.BaseURL, Key: key,
		Headers: headers, Timeout: m.Timeout, NativeTools: m.NativeTools, StoredKey: o.storedKey, Catalog: m.Catalog,
		Retry: provider.Retry{Patience: m.Patience}, MaxConcurrent: m.AtOnce,
	}, nil
}

// key returns the key of a model: its credential's value, or what its config
// says. A credential without a value is skipped where the config, or the
// environment, may still have one; but not a user's own, in whose place there is no other.
func (o *Opener) key(who string, m *app.Model) (string, error) {
	if m.Credential != "" {
		values, err := o.Secrets.ValuesFor(who, []string{m.Credential})
		if err == nil {
			return values[m.Credential], nil
		}
		if tool.KindOf(err) != tool.Unavailable || who != "" && scope.Parse(m.Credential).OfUser() {
			return "", err
		}
	}
	return o.Secrets.Expand(m.Key)
}

// Problems says what would keep a model from being asked, or should not be so: a
// provider that does not exist, a credential that is not stored, a key in the file.
func (o *Opener) Problems(m *app.Model) []string {
	if m.Provider == app.Offline {
		return nil
	}
	var all []string
	if _, err := o.Describe(m); err != nil {
		all = append(all, err.Error())
	}
	if m.Credential != "" {
		if _, err := o.Secrets.Values([]string{m.Credential}); err != nil {
			all = append(all, err.Error())
		}
	}
	if m.Key != "" && m.KeyInFile {
		all = append(all, "the key of the model "+m.Name+" stands in the app file, where everybody who has the file "+
			"reads it; store it with callgate secrets set NAME and write api_key: \"{{secret.NAME}}\"")
	}
	return all
}

// storedKey returns a secret of a provider's usual name, which is used at the
// provider's usual address only.
func (o *Opener) storedKey(name string) string {
	values, err := o.Secrets.Values([]string{name})
	if err != nil {
		return ""
	}
	return values[name]
}

// Close closes the connections.
func (o *Opener) Close() { o.pool.Close() }

// textCalls reads calls out of the text of a model that gets no tools from its
// provider.
type textCalls struct {
	known    func(string) bool
	required func(string) []string
}

// Start begins an answer.
func (t textCalls) Start() (func(string) string, func() (string, []llm.ToolCall)) {
	p := &calltext.Parser{Known: t.known, Required: t.required}
	return p.Write, p.Close
}
