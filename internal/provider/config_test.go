package provider_test

import (
	"strings"
	"testing"

	"callgate/internal/provider"
	"callgate/tool"
)

// env returns an environment of the given names and values.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		cfg  provider.Config
		kind tool.Kind
		says []string
	}{
		{"no provider", provider.Config{Model: "m"}, tool.Invalid, []string{"no provider", "anthropic, cerebras"}},
		{"a misspelt one", provider.Config{Provider: "deepsek", Model: "m"}, tool.NotFound, []string{`"deepsek"`, "did you mean deepseek"}},
		{"an unknown one", provider.Config{Provider: "my-own-thing", Model: "m"}, tool.NotFound, []string{"known ones are", "base_url"}},
		{"no model", provider.Config{Provider: "openai", Key: "k"}, tool.Invalid, []string{"names no model"}},
		{"no key", provider.Config{Provider: "deepseek", Model: "m"}, tool.Invalid, []string{"no key for deepseek", "DEEPSEEK_API_KEY", "callgate secrets set"}},
		{"no key for the usual address, named beside another", provider.Config{Provider: "anthropic", Model: "m", BaseURL: "https://api.anthropic.com/", Env: env("ANTHROPIC_BASE_URL", "http://127.0.0.1:6")}, tool.Invalid, []string{"ANTHROPIC_API_KEY"}},
		{"no key for copilot", provider.Config{Provider: "github_copilot", Model: "m"}, tool.Invalid, []string{"GITHUB_COPILOT_TOKEN"}},
		{"a key with its line's end", provider.Config{Provider: "openai", Model: "m", Key: "hunter2\n"}, tool.Invalid, []string{"white space"}},
		{"no backend of that name", provider.Config{Provider: "openai", Model: "m", Key: "k", Backend: "openai-compat"}, tool.Invalid, []string{"did you mean openai_compat"}},
		{"no backend at all like it", provider.Config{Provider: "openai", Model: "m", Key: "k", Backend: "zzzzzzzzz"}, tool.Invalid, []string{"openai_compat, anthropic, github_copilot"}},
		{"a backend that is not spoken there", provider.Config{Provider: "groq", Model: "m", Key: "k", Backend: provider.Anthropic}, tool.Invalid, []string{"does not speak", "base_url"}},
		{"no scheme", provider.Config{Provider: "openai", Model: "m", Key: "k", BaseURL: "localhost:8080/v1"}, tool.Invalid, []string{"http://", "in the app file"}},
		{"another scheme", provider.Config{Provider: "openai", Model: "m", Key: "k", BaseURL: "file:///etc/passwd"}, tool.Invalid, []string{"http://"}},
		{"no host", provider.Config{Provider: "openai", Model: "m", Key: "k", BaseURL: "https:///v1"}, tool.Invalid, []string{"no host"}},
		{"not a URL", provider.Config{Provider: "openai", Model: "m", Key: "k", BaseURL: "https://a b\x7f:hunter2@/"}, tool.Invalid, []string{"cannot be read"}},
		{"a password in it", provider.Config{Provider: "openai", Model: "m", Key: "k", BaseURL: "https://me:hunter2@host/v1"}, tool.Invalid, []string{"credential"}},
		{"a query in it", provider.Config{Provider: "openai", Model: "m", Key: "k", BaseURL: "https://host/v1?key=hunter2"}, tool.Invalid, []string{"after a ?"}},
		{"wrong in the environment", provider.Config{Provider: "xai", Model: "m", Key: "k", Env: env("CALLGATE_XAI_BASE_URL", "nonsense")}, tool.Invalid, []string{"CALLGATE_XAI_BASE_URL"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.cfg.Env == nil {
				tc.cfg.Env = env()
			}
			m, _, err := provider.New(tc.cfg)
			if m != nil || tool.KindOf(err) != tc.kind {
				t.Fatalf("model %v, error %v of kind %s; want %s", m, err, tool.KindOf(err), tc.kind)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not say %q", err, text)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret in the error: %s", err)
			}
		})
	}
}

func TestNewResolves(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, tc := range []struct {
		name     string
		cfg      provider.Config
		provider string
		backend  provider.Backend
		url      string
		native   bool
	}{
		{"openai", provider.Config{Provider: "openai", Key: "k"}, "openai", provider.OpenAICompat, "https://api.openai.com/v1", true},
		{"anthropic", provider.Config{Provider: "anthropic", Key: "k"}, "anthropic", provider.Anthropic, "https://api.anthropic.com", true},
		{"by its backend", provider.Config{Backend: provider.Anthropic, Key: "k"}, "anthropic", provider.Anthropic, "https://api.anthropic.com", true},
		{"copilot by its backend", provider.Config{Backend: provider.GitHubCopilot, Key: "k"}, "github_copilot", provider.GitHubCopilot, "https://api.githubcopilot.com", true},
		{"anthropic's chat completions", provider.Config{Provider: "anthropic", Backend: provider.OpenAICompat, Key: "k"}, "anthropic", provider.OpenAICompat, "https://api.anthropic.com/v1", true},
		{"deepseek's messages", provider.Config{Provider: "deepseek", Backend: provider.Anthropic, BaseURL: "https://api.deepseek.com/anthropic", Key: "k"}, "deepseek", provider.Anthropic, "https://api.deepseek.com/anthropic", true},
		{"text", provider.Config{Provider: "ollama"}, "ollama", provider.OpenAICompat, "http://localhost:11434/v1", false},
		{"text, overruled", provider.Config{Provider: "vllm", NativeTools: &yes}, "vllm", provider.OpenAICompat, "http://localhost:8000/v1", true},
		{"native, overruled", provider.Config{Provider: "groq", Key: "k", NativeTools: &no}, "groq", provider.OpenAICompat, "https://api.groq.com/openai/v1", false},
		{"written otherwise", provider.Config{Provider: "LM-Studio"}, "lmstudio", provider.OpenAICompat, "http://localhost:1234/v1", false},
		{"an alias", provider.Config{Provider: "Google", Key: "k"}, "gemini", provider.OpenAICompat, "https://generativelanguage.googleapis.com/v1beta/openai", true},
		{"the user's own, an unknown model", provider.Config{Provider: "mine", BaseURL: "http://10.0.0.1:9/v1/"}, "mine", provider.OpenAICompat, "http://10.0.0.1:9/v1", false},
		{"the user's own, a known model", provider.Config{Provider: "mine", Model: "gpt-4o", BaseURL: "http://10.0.0.1:9/v1"}, "mine", provider.OpenAICompat, "http://10.0.0.1:9/v1", true},
		{"the environment goes first", provider.Config{Provider: "deepseek", Key: "k", BaseURL: "https://api.deepseek.com/v1", Env: env("CALLGATE_DEEPSEEK_BASE_URL", "http://127.0.0.1:5/v1")}, "deepseek", provider.OpenAICompat, "http://127.0.0.1:5/v1", true},
		{"and needs no key there", provider.Config{Provider: "deepseek", Env: env("CALLGATE_DEEPSEEK_BASE_URL", "http://127.0.0.1:5/v1")}, "deepseek", provider.OpenAICompat, "http://127.0.0.1:5/v1", true},
		{"anthropic's own variable", provider.Config{Provider: "anthropic", Key: "k", Env: env("ANTHROPIC_BASE_URL", "http://127.0.0.1:6")}, "anthropic", provider.Anthropic, "http://127.0.0.1:6", true},
		{"ours before it", provider.Config{Provider: "anthropic", Key: "k", Env: env("ANTHROPIC_BASE_URL", "http://127.0.0.1:6", "CALLGATE_ANTHROPIC_BASE_URL", "http://127.0.0.1:7")}, "anthropic", provider.Anthropic, "http://127.0.0.1:7", true},
		{"the key of the environment", provider.Config{Provider: "mistral", Env: env("MISTRAL_API_KEY", "k\n")}, "mistral", provider.OpenAICompat, "https://api.mistral.ai/v1", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.cfg.Env == nil {
				tc.cfg.Env = env()
			}
			if tc.cfg.Model == "" {
				tc.cfg.Model = "some-model"
			}
			_, info, err := provider.New(tc.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if info.Provider != tc.provider || info.Backend != tc.backend || info.BaseURL != tc.url ||
				info.NativeTools != tc.native || info.Model != tc.cfg.Model {
				t.Errorf("info %+v", info)
			}
		})
	}
}

// TestNativeTools compares the presets with the list of the design.
func TestNativeTools(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]bool{
		"anthropic openai deepseek groq mistral together gemini xai cerebras perplexity fireworks": true,
		"ollama lmstudio vllm": false,
	} {
		for _, name := range strings.Fields(names) {
			_, info, err := provider.New(provider.Config{Provider: name, Model: "m", Key: "k", Env: env()})
			if err != nil || info.NativeTools != want {
				t.Errorf("%s: native %v, %v; want %v", name, info.NativeTools, err, want)
			}
		}
	}
}

// TestKeysStayWithTheirProvider: an app file that names its own server does not get the key that the user keeps
// for the provider.
func TestKeysStayWithTheirProvider(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		for _, tc := range []struct {
			name string
			env  func(url string) func(string) string
			base bool // the app file names the server
			want bool
		}{
			{"the app file's server", func(string) func(string) string {
				return env("OPENAI_API_KEY", secretKey, "ANTHROPIC_API_KEY", secretKey)
			}, true, false},
			{"the user's server", func(url string) func(string) string {
				return env("OPENAI_API_KEY", secretKey, "ANTHROPIC_API_KEY", secretKey,
					"CALLGATE_OPENAI_BASE_URL", url, "CALLGATE_ANTHROPIC_BASE_URL", url)
			}, false, true},
		} {
			t.Run(tc.name, func(t *testing.T) {
				t.Setenv("OPENAI_API_KEY", secretKey) // nothing may read the real environment
				t.Setenv("ANTHROPIC_API_KEY", secretKey)
				t.Setenv("OPENAI_ORG_ID", secretKey)
				t.Setenv("ANTHROPIC_AUTH_TOKEN", secretKey)
				t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Own: "+secretKey)
				s := serve(t, stream(d.events(d.hello...)))
				cfg := provider.Config{Provider: d.provider, Model: d.model, Env: tc.env(s.URL + "/v1")}
				if tc.base {
					cfg.BaseURL = s.URL + "/v1"
				}
				m, _, err := provider.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := generate(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				sent := false
				for _, values := range s.headers[0] {
					sent = sent || strings.Contains(strings.Join(values, " "), secretKey)
				}
				if sent != tc.want {
					t.Errorf("the key was sent: %v, want %v; headers %v", sent, tc.want, s.headers[0])
				}
			})
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got, want := len(provider.Names()), 17; got != want {
		t.Errorf("%d providers, want %d: %v", got, want, provider.Names())
	}
	if got, want := provider.BaseURLVariable("github_copilot"), "CALLGATE_GITHUB_COPILOT_BASE_URL"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
