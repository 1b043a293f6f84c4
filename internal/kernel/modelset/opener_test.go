package modelset_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/modelset"
	"callgate/internal/module"
	"callgate/internal/provider/offline"
	"callgate/internal/secret/scope"
	"callgate/llm"
	"callgate/tool"
)

// secrets is a vault of some names.
type secrets map[string]string

func (s secrets) Expand(text string) (string, error) { return text, nil }

func (s secrets) Values(names []string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		value, ok := s[name]
		if !ok {
			return nil, tool.Errorf("test", tool.Unavailable, "there is no secret %s", name)
		}
		values[name] = value
	}
	return values, nil
}

// ValuesFor gives users what their name begins with, and nothing else of their own.
func (s secrets) ValuesFor(user string, refs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range refs {
		name := scope.Parse(text).Stored()
		if user != "" && scope.Parse(text).OfUser() {
			name = user + "/" + name
		}
		found, err := s.Values([]string{name})
		if err != nil {
			return nil, err
		}
		values[text] = found[name]
	}
	return values, nil
}

// noTools is a session without tools.
type noTools struct{}

func (noTools) Required(string) []string { return nil }

func (noTools) Known(string) bool { return false }

func (noTools) Find(context.Context, string) []offline.ToolMatch { return nil }

func TestKeys(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	stored := secrets{"ANTHROPIC_API_KEY": "k-stored", "OWN": "k-own"}
	for name, c := range map[string]struct {
		model app.Model
		have  secrets
		want  string // in the error; empty: none
	}{
		"a stored secret of the usual name":  {app.Model{Provider: "anthropic", Name: "m"}, stored, ""},
		"no secret at all":                   {app.Model{Provider: "anthropic", Name: "m"}, secrets{}, "no key for anthropic"},
		"a credential":                       {app.Model{Provider: "anthropic", Name: "m", Connection: app.Connection{Credential: "OWN"}}, stored, ""},
		"a credential without a value":       {app.Model{Provider: "anthropic", Name: "m", Connection: app.Connection{Credential: "NONE"}}, stored, ""},
		"a key in the config":                {app.Model{Provider: "anthropic", Name: "m", Connection: app.Connection{Key: "k"}}, secrets{}, ""},
		"another address gets no stored key": {app.Model{Provider: "anthropic", Name: "m", Connection: app.Connection{BaseURL: "http://127.0.0.1:1"}}, stored, ""},
		"a server on this machine":           {app.Model{Provider: "ollama", Name: "m"}, secrets{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := &modelset.Opener{Secrets: c.have}
			defer o.Close()
			_, info, err := o.Open(modelset.Use{}, &c.model, noTools{})
			if c.want == "" {
				if err != nil || info.Provider != c.model.Provider {
					t.Errorf("%+v, %v", info, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A fallback without a key does not keep its model from answering, and says why
// when it is asked.
func TestFallbackWithoutAKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	o := &modelset.Opener{Secrets: secrets{"ANTHROPIC_API_KEY": "k"}}
	defer o.Close()
	model, _, err := o.Open(modelset.Use{}, &app.Model{
		Provider: "anthropic", Name: "m", Fallback: &app.Model{Provider: "openai", Name: "n"},
	}, noTools{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Fallback.Model.Generate(t.Context(), llm.Request{}, nil)
	if err == nil || !strings.Contains(err.Error(), "no key for openai") {
		t.Errorf("the fallback answers %v", err)
	}
}

func TestWithoutAModel(t *testing.T) {
	t.Parallel()
	o := &modelset.Opener{Secrets: secrets{}}
	for _, m := range []*app.Model{nil, {Provider: app.Offline}} {
		model, info, err := o.Open(modelset.Use{}, m, noTools{})
		if err != nil || !info.Offline || info.Provider != app.Offline || model.Model == nil {
			t.Errorf("%+v: %+v, %v", m, info, err)
		}
	}
}

func TestLender(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	small := &app.Model{Provider: "anthropic", Name: "small", Window: 8_000}
	large := &app.Model{Provider: "anthropic", Name: "large", Window: 200_000}
	keyless := &app.Model{Provider: "openai", Name: "gpt-4o"}
	strange := &app.Model{Provider: "anthropic", Name: "large", Connection: app.Connection{BaseURL: "http://127.0.0.1:1", Key: "k"}}
	nothing := &app.Model{Provider: app.Offline}
	for name, c := range map[string]struct {
		models   []*app.Model
		accepted bool
		want     module.Want
		kind     tool.Kind // of the error; empty: none
		text     string
	}{
		"the first":            {[]*app.Model{small, large}, true, module.Want{}, "", ""},
		"a large one":          {[]*app.Model{small, large}, true, module.Want{Window: 100_000}, "", ""},
		"none is large enough": {[]*app.Model{small}, true, module.Want{Window: 100_000}, tool.Unavailable, "too small"},
		"one without a key":    {[]*app.Model{keyless, small}, true, module.Want{}, "", ""},
		"no key at all":        {[]*app.Model{keyless}, true, module.Want{}, tool.Unavailable, "no key for openai"},
		"not accepted":         {[]*app.Model{strange}, false, module.Want{}, tool.Denied, "consent"},
		"accepted":             {[]*app.Model{strange}, true, module.Want{}, "", ""},
		"images":               {[]*app.Model{small}, true, module.Want{Images: true}, tool.Unavailable, "images"},
		"no language model":    {[]*app.Model{nothing}, true, module.Want{}, tool.Unavailable, "brain"},
		"no app":               {nil, false, module.Want{}, tool.Unavailable, "brain"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &modelset.Opener{Secrets: secrets{"ANTHROPIC_API_KEY": "k"}}
			defer o.Close()
			l := &modelset.Lender{
				Opener: o,
				ModelsOf: func(string) (*app.App, []*app.Model, func(*app.Model) error, error) {
					return nil, c.models, func(m *app.Model) error {
						if text := consent.Endpoint(&app.App{}, m); text != "" && !c.accepted {
							return consent.Needed("test", text)
						}
						return nil
					}, nil
				},
			}
			call := tool.Call{Tool: tool.ID{Namespace: "m", Name: "t"}}
			model, err := l.For(t.Context(), call, c.want)
			if c.kind == "" && (err != nil || model == nil) || tool.KindOf(err) != c.kind {
				t.Fatalf("%v, %v", model, err)
			}
			var e *tool.Error
			if errors.As(err, &e) && !strings.Contains(e.Message+e.Hint, c.text) {
				t.Errorf("%q and %q do not say %q", e.Message, e.Hint, c.text)
			}
		})
	}
}
