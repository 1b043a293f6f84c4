package provider

import (
	"slices"
	"strings"

	"callgate/internal/nearest"
	"callgate/internal/provider/openai"
	"callgate/tool"
)

// Backend names the API that a provider speaks.
type Backend string

// The backends.
const (
	OpenAICompat  Backend = "openai_compat"
	Anthropic     Backend = "anthropic"
	GitHubCopilot Backend = "github_copilot" // openai_compat, with Copilot's headers
)

// preset is what is known about a provider by its name.
type preset struct {
	name    string
	backend Backend
	baseURL string
	keyEnv  string // "" for a server on this machine, which needs no key
	tools   toolSupport
	headers map[string]string
	quirks  openai.Quirks
}

// toolSupport says whether a provider's models get tools through the API or in the prompt.
type toolSupport int

const (
	toolsByModel toolSupport = iota // as the catalog says, until the server is asked
	toolsAlways
	toolsAsked // in the prompt, until the server is asked
)

// presets are the providers that are known by name. An app's own setting goes before what they say about
// tools.
var presets = []preset{
	{name: "anthropic", backend: Anthropic, baseURL: "https://api.anthropic.com", keyEnv: "ANTHROPIC_API_KEY",
		tools: toolsAlways},
	{name: "openai", baseURL: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY", tools: toolsAlways,
		quirks: openai.Quirks{CompletionTokens: true, CacheKey: true, JSONSchema: true}},
	{name: "deepseek", baseURL: "https://api.deepseek.com/v1", keyEnv: "DEEPSEEK_API_KEY", tools: toolsAlways,
		quirks: openai.Quirks{Reasoning: "reasoning_content"}},
	{name: "groq", baseURL: "https://api.groq.com/openai/v1", keyEnv: "GROQ_API_KEY", tools: toolsAlways,
		quirks: openai.Quirks{CompletionTokens: true}},
	{name: "mistral", baseURL: "https://api.mistral.ai/v1", keyEnv: "MISTRAL_API_KEY", tools: toolsAlways,
		quirks: openai.Quirks{IDLength: 9, ToolNames: true, JSONSchema: true}},
	{name: "together", baseURL: "https://api.together.xyz/v1", keyEnv: "TOGETHER_API_KEY", tools: toolsAlways,
		quirks: openai.Quirks{JSONSchema: true}},
	{name: "gemini", baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", keyEnv: "GEMINI_API_KEY",
		tools: toolsAlways, quirks: openai.Quirks{ToolNames: true, ExtraContent: true, JSONSchema: true}},
	{name: "xai", baseURL: "https://api.x.ai/v1", keyEnv: "XAI_API_KEY", tools: toolsAlways,
		quirks: openai.Quirks{JSONSchema: true}},
	{name: "cerebras", baseURL: "https://api.cerebras.ai/v1", keyEnv: "CEREBRAS_API_KEY", tools: toolsAlways,
		quirks: openai.Quirks{CompletionTokens: true}},
	{name: "fireworks", baseURL: "https://api.fireworks.ai/inference/v1", keyEnv: "FIREWORKS_API_KEY",
		tools: toolsAlways, quirks: openai.Quirks{JSONSchema: true}},
	{name: "perplexity", baseURL: "https://api.perplexity.ai", keyEnv: "PERPLEXITY_API_KEY", tools: toolsAlways},
	{name: "openrouter", baseURL: "https://openrouter.ai/api/v1", keyEnv: "OPENROUTER_API_KEY", tools: toolsAlways,
		quirks: openai.Quirks{Reasoning: "reasoning", JSONSchema: true}},
	{name: "github_copilot", backend: GitHubCopilot, baseURL: "https://api.githubcopilot.com",
		keyEnv: "GITHUB_COPILOT_TOKEN", tools: toolsAlways, headers: map[string]string{
			"Copilot-Integration-Id": "vscode-chat", "Editor-Version": "callgate/1.0", "Openai-Intent": "conversation-edits",
		}},
	{name: "ollama", baseURL: "http://localhost:11434/v1", tools: toolsAsked,
		quirks: openai.Quirks{JSONSchema: true}},
	{name: "lmstudio", baseURL: "http://localhost:1234/v1", tools: toolsAsked,
		quirks: openai.Quirks{JSONSchema: true}},
	{name: "vllm", baseURL: "http://localhost:8000/v1", tools: toolsAsked,
		quirks: openai.Quirks{JSONSchema: true}},
	{name: "llamacpp", baseURL: "http://localhost:8080/v1", tools: toolsAsked},
}

// aliases are other names of providers.
var aliases = map[string]string{
	"google": "gemini", "grok": "xai", "copilot": "github_copilot", "claude": "anthropic",
	"togetherai": "together", "fireworksai": "fireworks", "mistralai": "mistral", "llama": "llamacpp",
}

// plainName removes what people write differently: capitals, dashes, dots.
func plainName(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name))
}

// CanonicalName is the one name of a provider that is known by several; any other name stays as it is.
func CanonicalName(name string) string {
	if p, err := find(Config{Provider: name}); err == nil {
		return p.name
	}
	return name
}

// find returns the preset of a name. A name that is not known is the user's own provider, if it comes with an
// address.
func find(cfg Config) (preset, error) {
	const op = "provider.New"
	name := cfg.Provider
	if name == "" && (cfg.Backend == Anthropic || cfg.Backend == GitHubCopilot) {
		name = string(cfg.Backend)
	}
	if name == "" {
		return preset{}, tool.Errorf(op, tool.Invalid, "the brain names no provider").
			WithHint("known ones are %s", strings.Join(Names(), ", "))
	}
	plain := plainName(name)
	for _, p := range presets {
		if plain == plainName(p.name) || aliases[plain] == p.name {
			return p, nil
		}
	}
	if cfg.BaseURL != "" {
		return preset{name: name}, nil
	}
	err := tool.Errorf(op, tool.NotFound, "no provider is called %q", tool.Truncate(name))
	err.Similar = nearest.Names(name, Names(), 3)
	if len(err.Similar) > 0 {
		return preset{}, err.WithHint("did you mean %s?", strings.Join(err.Similar, " or "))
	}
	return preset{}, err.WithHint("known ones are %s; any other needs a base_url", strings.Join(Names(), ", "))
}

// Names returns the providers that are known by name, sorted.
func Names() []string {
	names := make([]string, 0, len(presets))
	for _, p := range presets {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}
