package filter_test

import (
	"testing"

	"callgate/internal/agent/filter"
	"callgate/tool"
)

func TestFilterMasksAndBlocks(t *testing.T) {
	t.Parallel()
	f, err := filter.New([]filter.Rule{
		{Secrets: true, Input: true, Output: true},
		{Block: []string{`(?i)\bdarn\b`}, Input: true, Message: "no such words here"},
		{Block: []string{`(?i)classified`}, Output: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, input, output string }{
		{"hello", "hello", "hello"},
		{"my key is sk-abcdefghijklmnop1234 ok", "my key is [masked] ok", "my key is [masked] ok"},
		{"password = hunter22222", "password = [masked]", "password = [masked]"},
		{"Darn it", "!no such words here", "Darn it"},
		{"this is CLASSIFIED", "this is CLASSIFIED",
			"!what the model said is refused by the app's content filter (say it differently)"},
	} {
		for name, got := range map[string]struct {
			apply func(string) (string, error)
			want  string
		}{"input": {f.Input, c.input}, "output": {f.Output, c.output}} {
			text, err := got.apply(c.in)
			if err != nil {
				text = "!" + err.Error()
				if tool.KindOf(err) != tool.Denied {
					t.Errorf("%s %q: kind %s", name, c.in, tool.KindOf(err))
				}
			}
			if text != got.want {
				t.Errorf("%s %q: %q, want %q", name, c.in, text, got.want)
			}
		}
	}
	nothing := ""
	f, err = filter.New([]filter.Rule{{Mask: []string{`(?i)as an ai model, `}, Instead: &nothing, Output: true}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := f.Output("As an AI model, I see $1"); got != "I see $1" {
		t.Errorf("%q", got)
	}
	if _, err := filter.New([]filter.Rule{{Mask: []string{"("}}}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("a bad pattern: %v", err)
	}
	var none *filter.Filter
	if text, err := none.Input("x"); text != "x" || err != nil {
		t.Errorf("no filter: %q, %v", text, err)
	}
}
