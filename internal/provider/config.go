package provider

import (
	"maps"
	"net/url"
	"os"
	"strings"
	"time"

	"callgate/internal/nearest"
	"callgate/internal/provider/catalog"
	"callgate/tool"
)

// Config says which model to ask, and how. Provider and Model are required; everything else has a default.
type Config struct {
	Provider string
	Backend  Backend // "": the provider's own
	Model    string
	BaseURL  string // "": the provider's own
	Key      string // "": the one in the environment, if the address is the provider's own
	Headers  map[string]string
	Timeout  time.Duration // of one attempt; 0: no limit while data arrives
	// ConnectTimeout is how long a connection may take; a request that has none then is not retried. 0: as long
	// as Go's own client waits, and it is retried.
	ConnectTimeout time.Duration
	IdleTimeout    time.Duration // aborts an attempt after this time without data; 0: 5 minutes
	// MaxConcurrent bounds the requests that run at once to the same model with the same key, of those
	// that say the same number; 0: the pool's.
	MaxConcurrent int
	Turns         Turns
	NativeTools   *bool // nil: what is known about the provider and the model
	Retry         Retry
	Catalog       *catalog.Catalog    // nil: the embedded one
	Env           func(string) string // nil: os.Getenv
	// StoredKey returns a stored key by its usual name, such as
	// ANTHROPIC_API_KEY; nil, or an empty result: the environment's.
	StoredKey func(name string) string
}

const defaultIdleTimeout = 5 * time.Minute

// Info says what a Config came to mean.
type Info struct {
	Provider    string
	Backend     Backend
	Model       string
	BaseURL     string
	NativeTools bool          // tools are offered through the API, not in the prompt
	AskTools    bool          // whether it takes them is not known of the provider: see [Pool.AskTools]
	Entry       catalog.Entry // what the catalog knows about the model; Known is false if it has none
}

// Describe says what a Config means. It needs no key.
func Describe(cfg Config) (Info, error) {
	cfg.Key = "not-needed"
	r, err := resolve(cfg)
	if err != nil {
		return Info{}, err
	}
	return r.Info, nil
}

// resolved is a Config in which nothing is left to decide.
type resolved struct {
	Info
	preset  preset
	key     string
	headers map[string]string
}

// resolve decides what a Config leaves open.
func resolve(cfg Config) (*resolved, error) {
	const op = "provider.New"
	p, err := find(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Model == "" {
		return nil, tool.Errorf(op, tool.Invalid, "the brain names no model for %s", p.name)
	}
	r := &resolved{preset: p, headers: maps.Clone(p.headers)}
	if r.headers == nil {
		r.headers = map[string]string{}
	}
	maps.Copy(r.headers, cfg.Headers)
	backend, err := backendOf(cfg.Backend, p)
	if err != nil {
		return nil, err
	}
	env := cfg.Env
	if env == nil {
		env = os.Getenv
	}
	base, own, err := address(cfg, p, backend, env)
	if err != nil {
		return nil, err
	}
	if r.key, err = key(cfg, p, own, env); err != nil {
		return nil, err
	}
	table := cfg.Catalog
	if table == nil {
		table = catalog.Default()
	}
	entry := table.Find(p.name, cfg.Model)
	r.Info = Info{Provider: p.name, Backend: backend, Model: cfg.Model, BaseURL: base, Entry: entry}
	r.NativeTools = p.tools == toolsAlways || p.tools == toolsByModel && entry.Tools
	r.AskTools = p.tools != toolsAlways
	if cfg.NativeTools != nil {
		r.NativeTools, r.AskTools = *cfg.NativeTools, false
	}
	return r, nil
}

func backendOf(asked Backend, p preset) (Backend, error) {
	known := []string{string(OpenAICompat), string(Anthropic), string(GitHubCopilot)}
	switch asked {
	case "":
		if p.backend == "" {
			return OpenAICompat, nil
		}
		return p.backend, nil
	case OpenAICompat, Anthropic, GitHubCopilot:
		return asked, nil
	}
	err := tool.Errorf("provider.New", tool.Invalid, "no backend is called %q", tool.Truncate(string(asked)))
	if near := nearest.Name(string(asked), known); near != "" {
		return "", err.WithHint("did you mean %s?", near)
	}
	return "", err.WithHint("use %s", strings.Join(known, ", "))
}

// address returns the base URL, and whether the user or the preset chose it and not the app file. The
// environment goes first, so that an app runs against another server without a change.
func address(cfg Config, p preset, backend Backend, env func(string) string) (base string, own bool, err error) {
	name := BaseURLVariable(p.name)
	base = p.baseURL
	if p.name == "anthropic" {
		if v := env("ANTHROPIC_BASE_URL"); v != "" {
			base = v
		}
	}
	if p.name == "anthropic" && backend != Anthropic {
		base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + "/v1" // Anthropic's chat completions
	}
	own = true
	from := "of " + p.name
	if named := strings.TrimRight(cfg.BaseURL, "/"); named != "" && named != base {
		base, own, from = named, named == p.baseURL, "in the app file"
	}
	if v := env(name); v != "" {
		base, own, from = v, true, "in "+name
	}
	if p.backend != Anthropic && backend == Anthropic && base == p.baseURL {
		return "", false, tool.Errorf("provider.New", tool.Invalid,
			"the usual address of %s does not speak the backend anthropic", p.name).
			WithHint("give the brain the base_url of one that does")
	}
	if why := urlProblem(base); why != "" {
		return "", false, tool.Errorf("provider.New", tool.Invalid, "the base URL %s %s", from, why).
			WithHint("write it like https://host/v1")
	}
	return strings.TrimRight(base, "/"), own, nil
}

// BaseURLVariable returns the name of the environment variable that sends a provider's requests to another
// address.
func BaseURLVariable(provider string) string {
	upper := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.ToUpper(provider))
	return "CALLGATE_" + upper + "_BASE_URL"
}

// urlProblem says why an address cannot be used, or "". It does not repeat the address, which may hold a
// secret.
func urlProblem(base string) string {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return "cannot be read as a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "does not begin with http:// or https://"
	case u.Host == "" || u.Hostname() == "":
		return "names no host"
	case u.User != nil:
		return "holds a user name or a password: put the key into the credential"
	case u.RawQuery != "" || u.Fragment != "":
		return "has a query or a fragment after a ? or #"
	}
	return ""
}

// key finds the key. The one in the environment is for the provider's own address, and for an address that
// the user set in the environment. An app file with an address of its own must name a key too, or else it
// could have any key sent to its server.
func key(cfg Config, p preset, own bool, env func(string) string) (string, error) {
	if cfg.Key != "" {
		if strings.ContainsAny(cfg.Key, " \t\r\n") {
			return "", tool.Errorf("provider.New", tool.Invalid, "the key for %s holds white space", p.name).
				WithHint("store it again without spaces and line ends")
		}
		return cfg.Key, nil
	}
	if p.keyEnv == "" || !own {
		return "", nil
	}
	if cfg.StoredKey != nil {
		if v := strings.TrimSpace(cfg.StoredKey(p.keyEnv)); v != "" {
			return v, nil
		}
	}
	if v := strings.TrimSpace(env(p.keyEnv)); v != "" {
		return v, nil
	}
	if env(BaseURLVariable(p.name)) != "" {
		return "", nil // the user's own server may need none
	}
	return "", tool.Errorf("provider.New", tool.Invalid, "there is no key for %s", p.name).
		WithHint("store it with `callgate secrets set %s`, or set %s in the environment of the process that runs the kernel",
			p.keyEnv, p.keyEnv)
}
