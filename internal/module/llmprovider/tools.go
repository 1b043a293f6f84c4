package llmprovider

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/llm"
	"callgate/tool"
)

var (
	//go:embed configure.md
	configureDoc string
	//go:embed chat.md
	chatDoc string
	//go:embed remove.md
	removeDoc string
	//go:embed list_providers.md
	listDoc string
	//go:embed get_provider_info.md
	infoDoc string
	//go:embed update_defaults.md
	updateDoc string
)

const (
	nameParam = `"name": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
    "description": "Of the provider that configure made."}`
	defaultParams = `"system": {"type": "string", "maxLength": 20000, "description": "What the model is told first."},
  "temperature": {"type": "number", "minimum": 0, "maximum": 2},
  "top_p": {"type": "number", "minimum": 0, "maximum": 1},
  "max_tokens": {"type": "integer", "minimum": 1, "maximum": 100000, "description": "How long the answer may be."}`
	modelParam = `"model": {"type": "string", "minLength": 1, "maxLength": 200, "description": "A model of the app: provider/model."}`

	configureInput = `{"type": "object", "properties": {` + nameParam + `, ` + modelParam + `, ` + defaultParams + `},
  "required": ["name"], "additionalProperties": false}`
	updateInput = `{"type": "object", "properties": {` + nameParam + `, ` + defaultParams + `},
  "required": ["name"], "additionalProperties": false}`
	nameInput = `{"type": "object", "properties": {` + nameParam + `}, "required": ["name"], "additionalProperties": false}`
	infoInput = `{"type": "object", "properties": {"provider": {"type": "string", "minLength": 1, "maxLength": 200,
  "description": "A name that configure made, or a model of the app."}}, "required": ["provider"], "additionalProperties": false}`
	chatInput = `{"type": "object", "properties": {
  "provider": {"type": "string", "minLength": 1, "maxLength": 200,
    "description": "A name that configure made, or a model of the app; the app's own unless given."},
  "prompt": {"type": "string", "minLength": 1, "description": "What the model is asked."},
  "messages": {"type": "array", "minItems": 1, "maxItems": 100, "description": "A conversation instead, which ends with the user.",
    "items": {"type": "object", "properties": {
      "role": {"type": "string", "enum": ["user", "assistant"]}, "content": {"type": "string", "minLength": 1}},
      "required": ["role", "content"], "additionalProperties": false}},
  ` + defaultParams + `}, "additionalProperties": false}`
	chatOutput = `{"type": "object", "properties": {
  "model": {"type": "string"}, "text": {"type": "string"}, "stop": {"type": "string"},
  "input_tokens": {"type": "integer"}, "output_tokens": {"type": "integer"}
}, "required": ["model", "text"]}`
)

func (p *providers) definitions() []module.Definition {
	looks := tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true}
	asks := tool.Runtime{
		Risk: tool.Medium, SideEffect: tool.External, Network: true, Timeout: timeLimit,
		ParamAliases: []tool.ParamAlias{{Name: "model", Param: "provider", Weak: true}, {Name: "message", Param: "prompt", Weak: true}},
	}
	return []module.Definition{
		{Name: "list_providers", Doc: listDoc, Runtime: looks, Handler: handler(p.list),
			Input: `{"type": "object", "additionalProperties": false}`},
		{Name: "get_provider_info", Doc: infoDoc, Input: infoInput, Runtime: looks, Handler: handler(p.info)},
		{Name: "configure", Doc: configureDoc, Input: configureInput, Runtime: looks, Handler: handler(p.configure),
			Examples: []tool.Example{module.Example("short answers", `{"name": "brief", "max_tokens": 200, "temperature": 0}`)}},
		{Name: "update_defaults", Doc: updateDoc, Input: updateInput, Runtime: looks, Handler: handler(p.update)},
		{Name: "remove", Doc: removeDoc, Input: nameInput, Runtime: looks, Handler: handler(p.remove)},
		{Name: "chat", Doc: chatDoc, Input: chatInput, Output: chatOutput, Runtime: asks, Handler: chatHandler{handler(p.chat), p},
			Examples: []tool.Example{module.Example("a second opinion", `{"prompt": "Is 1009 a prime number? Answer with yes or no."}`)}},
	}
}

var aliases = map[string][]string{
	"list_providers": {
		"list_models", "which models are there", "lister les modèles", "Modelle auflisten", "listar modelos",
		"列出模型",
	},
	"get_provider_info": {
		"model_info", "context window of a model", "informations sur le modèle", "Angaben zum Modell",
		"información del modelo",
	},
	"configure": {
		"configure_provider", "keep settings for asking a model", "configurer un modèle", "Modell einrichten",
		"configurar un modelo",
	},
	"update_defaults": {
		"change temperature", "set max tokens", "changer la température", "Temperatur ändern",
		"cambiar la temperatura",
	},
	"remove": {
		"remove_provider", "forget settings of a model", "retirer un modèle", "Modell entfernen",
		"quitar un modelo",
	},
	"chat": {
		"ask_model", "ask a language model", "chat_completion", "demander à un modèle", "Sprachmodell fragen",
		"preguntar al modelo", "询问模型", "モデルに聞く",
	},
}

// described is a model as a model is told of it.
type described struct {
	Model    string `json:"model"`
	Window   int    `json:"context_window,omitempty"`
	Images   bool   `json:"images"`
	Tools    bool   `json:"native_tools"`
	Accepted bool   `json:"accepted"` // by a human
}

func describe(m module.ModelInfo) described {
	return described{m.Provider + "/" + m.Name, m.Window, m.Images, m.NativeTools, m.Accepted}
}

func (p *providers) list(ctx context.Context, r request, _ struct{}) (*tool.Result, error) {
	all, err := p.listed(ctx, r)
	if err != nil {
		return nil, err
	}
	data := struct {
		Models    []described `json:"models"`
		Providers []preset    `json:"providers"`
	}{[]described{}, p.all(r.call.Principal.Session)}
	for _, m := range all {
		data.Models = append(data.Models, describe(m))
	}
	return tool.OK(amount.Of(len(data.Models), "model")+" of the app, "+
		amount.As(len(data.Providers), "name for one", "names for them"), data)
}

func (p *providers) info(ctx context.Context, r request, in struct{ Provider string }) (*tool.Result, error) {
	data := struct {
		described
		Defaults *preset `json:"defaults,omitempty"`
	}{}
	model := in.Provider
	if one, ok := p.get(r.call.Principal.Session, in.Provider); ok {
		model, data.Defaults = one.Model, &one
	}
	m, err := p.find(ctx, r, model)
	if err != nil {
		return nil, err
	}
	data.described = describe(m)
	return tool.OK(data.Model+" of the app", data)
}

func (p *providers) configure(ctx context.Context, r request, in preset) (*tool.Result, error) {
	m, err := p.find(ctx, r, in.Model)
	if err != nil {
		return nil, err
	}
	in.Model = m.Provider + "/" + m.Name
	if err := p.free(ctx, r, in.Name); err != nil {
		return nil, err
	}
	if !p.put(r.call.Principal.Session, in) {
		return nil, tool.Errorf(r.op, tool.Conflict, "this session has %d providers, which is the most", maxPresets).
			WithHint("take one away with llm_provider.remove")
	}
	return tool.OK(fmt.Sprintf("%s stands for %s, in this session", in.Name, in.Model), in)
}

func (p *providers) update(_ context.Context, r request, in preset) (*tool.Result, error) {
	old, err := p.preset(r, in.Name)
	if err != nil {
		return nil, err
	}
	in = old.with(in)
	p.put(r.call.Principal.Session, in)
	return tool.OK(in.Name+" has these defaults now", in)
}

func (p *providers) remove(_ context.Context, r request, in struct{ Name string }) (*tool.Result, error) {
	if _, err := p.preset(r, in.Name); err != nil {
		return nil, err
	}
	p.drop(r.call.Principal.Session, in.Name)
	return tool.OK(in.Name+" is gone; the app's models are as they were", map[string]string{"removed": in.Name})
}

func (p *providers) preset(r request, name string) (preset, error) {
	one, ok := p.get(r.call.Principal.Session, name)
	if ok {
		return one, nil
	}
	return one, tool.Errorf(r.op, tool.NotFound, "there is no provider %q in this session", tool.Truncate(name)).
		WithHint("llm_provider.configure makes one; llm_provider.list_providers has those that are there")
}

// question is what chat is given.
type question struct {
	Provider, Prompt string
	Messages         []struct{ Role, Content string }
	System           string
	Temperature      *float64
	TopP             *float64 `json:"top_p"`
	MaxTokens        int      `json:"max_tokens"`
}

// messages reads the conversation of a question, within the bounds of the app.
func (q question) messages(r request) (list []llm.Message, err error) {
	size := len(q.Prompt) + len(q.System)
	for _, m := range q.Messages {
		list = append(list, llm.TextMessage(llm.Role(m.Role), m.Content))
		size += len(m.Content)
	}
	switch {
	case (q.Prompt == "") == (len(list) == 0):
		return nil, tool.Errorf(r.op, tool.Invalid, "give either prompt or messages")
	case q.Prompt != "":
		list = []llm.Message{llm.TextMessage(llm.User, q.Prompt)}
	case list[len(list)-1].Role != llm.User:
		return nil, tool.Errorf(r.op, tool.Invalid, "the last message is not the user's: there is nothing to answer")
	}
	if size > r.settings.MaxInput {
		return nil, tool.Errorf(r.op, tool.Invalid, "the question has %d characters, and the app sends at most %d", size,
			r.settings.MaxInput).WithHint("ask about less")
	}
	return list, nil
}

func (p *providers) chat(ctx context.Context, r request, in question) (*tool.Result, error) {
	messages, err := in.messages(r)
	if err != nil {
		return nil, err
	}
	m, err := p.find(ctx, r, in.Provider)
	if err != nil {
		return nil, err
	}
	name := m.Provider + "/" + m.Name
	model, err := p.models.For(ctx, r.call, module.Want{Prefer: []string{name}, Only: true})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.settings.Timeout)*time.Second)
	defer cancel()
	began := time.Now()
	got, err := model.Generate(ctx, llm.Request{
		System: in.System, Messages: messages, Temperature: in.Temperature, TopP: in.TopP, Once: true, NoCache: true,
		MaxTokens: cmp.Or(in.MaxTokens, r.settings.MaxTokens),
	}, nil)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, tool.Errorf(r.op, tool.Timeout, "%s did not answer in time", name)
		}
		return nil, failed(r.op, name, err)
	}
	return answer(name, got, time.Since(began))
}

// failed says why a model gave no answer, in the kind that its provider's error has.
func failed(op, name string, err error) error {
	e := tool.Errorf(op, tool.Failed, "%s could not be asked: %w", name, err)
	var said *llm.Error
	if errors.As(err, &said) {
		e.Kind, e.Hint = said.ToolError().Kind, said.ToolError().Hint
	}
	return e
}

// answer is what a model said, as the result of a call.
func answer(name string, got *llm.Response, took time.Duration) (*tool.Result, error) {
	text := strings.TrimSpace(got.Message.Text())
	result, err := tool.OK(name+" answered", map[string]any{
		"model": name, "text": text, "stop": string(got.Stop),
		"input_tokens": got.Usage.Input, "output_tokens": got.Usage.Output,
	})
	if err != nil {
		return nil, err
	}
	result.Content = []tool.Content{tool.Text(fence.Data(text))}
	result.Attempts = []tool.Attempt{{
		Model: name, Outcome: "ok", Input: got.Usage.Input, CachedInput: got.Usage.CachedInput, Output: got.Usage.Output,
		Cost: got.Usage.Cost, Priced: got.Usage.Priced, Took: took,
	}}
	if text == "" {
		result.Warnings = []string{"the model said nothing: " + string(got.Stop)}
	}
	return result, nil
}
