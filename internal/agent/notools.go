package agent

import (
	"context"

	"callgate/llm"
	"callgate/tool"
)

// takesText reports whether a request to a model that failed can be sent with its tools
// in the prompt.
func (c *Config) takesText(m *ModelConfig, failure *llm.Error) bool {
	return failure.Kind == llm.NoTools && m.Parser == nil && m.Detector != nil &&
		m.ToolsRefused != nil && c.InText != nil
}

// goOnInText goes on with a model whose server refused its tools: they are written into
// the prompt, and its calls are read from its text. That is the one case in which the
// beginning of what a model is sent changes within a turn.
func (t *turn) goOnInText(ctx context.Context, failure *llm.Error) error {
	own := t.model == t.cfg.Model
	inText := *t.model
	inText.Parser, inText.Detector, inText.ToolsRefused = t.model.Detector, nil, nil
	t.model.ToolsRefused(ctx)
	if t.observer.Notice != nil {
		t.observer.Notice("the model's server refuses tools, so they are written into its prompt from now on: " +
			tool.TruncateTo(failure.Message, 200))
	}
	if t.model = &inText; own {
		t.cfg.Model = &inText // for the turns after this one
		if err := t.write(ctx, t.cfg.InText()); err != nil {
			return err
		}
	}
	t.system = t.cfg.systemText(t.model)
	return nil
}

// systemText is the system text for the model that answers: a fallback may get its tools
// another way than the model before it.
func (c *Config) systemText(m *ModelConfig) string {
	inText := m.Parser != nil
	if c.SystemFor == nil || inText == (c.Model.Parser != nil) {
		return c.System()
	}
	return c.SystemFor(inText)
}
