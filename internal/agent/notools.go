package agent

import (
	"context"

	"callgate/llm"
	"callgate/tool"
)

// takesText reports whether a request that failed can be sent with its tools in the
// prompt.
func takesText(t *turn, failure *llm.Error) bool {
	return failure.Kind == llm.NoTools && t.model.Parser == nil && t.model.Detector != nil &&
		t.model.ToolsRefused != nil && t.cfg.InText != nil
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
	t.system = systemText(t)
	return nil
}

// systemText is the system text for the model that answers: a fallback may get its tools
// another way than the model before it.
func systemText(t *turn) string {
	inText := t.model.Parser != nil
	if t.cfg.SystemFor == nil || inText == (t.cfg.Model.Parser != nil) {
		return t.cfg.System()
	}
	return t.cfg.SystemFor(inText)
}
