// Package filter masks or blocks text between a user and an agent, by the rules of
// an app: text that looks like a secret is masked, forbidden text is refused.
package filter

import (
	"regexp"

	"callgate/tool"
)

// Rule masks or blocks text. Patterns are regular expressions.
type Rule struct {
	Secrets bool     // what looks like a secret is replaced by [masked]: see MaskSecrets
	Mask    []string // a match is replaced by [masked], or by Instead
	Instead *string  // nil: [masked]
	Block   []string // text with a match is refused
	Input   bool     // applies to the user's text
	Output  bool     // applies to the model's text
	Message string   // the text of the refusal; "": a default
}

// Filter applies rules. A nil Filter changes nothing.
type Filter struct {
	rules []compiled
}

type compiled struct {
	Rule
	mask, block []*regexp.Regexp
}

// New compiles rules. The error of an invalid pattern names it.
func New(rules []Rule) (*Filter, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	f := &Filter{}
	for _, r := range rules {
		c := compiled{Rule: r}
		var err error
		if c.mask, err = compile(r.Mask); err != nil {
			return nil, err
		}
		if c.block, err = compile(r.Block); err != nil {
			return nil, err
		}
		f.rules = append(f.rules, c)
	}
	return f, nil
}

func compile(patterns []string) ([]*regexp.Regexp, error) {
	var all []*regexp.Regexp
	for _, p := range patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, tool.Errorf("filter.New", tool.Invalid,
				"the pattern %q is no regular expression: %w", tool.Truncate(p), err)
		}
		all = append(all, re)
	}
	return all, nil
}

// Input filters a user's text for the model.
func (f *Filter) Input(text string) (string, error) {
	return f.apply(text, "what you said", func(r Rule) bool { return r.Input })
}

// Output filters a model's text for the user.
func (f *Filter) Output(text string) (string, error) {
	return f.apply(text, "what the model said", func(r Rule) bool { return r.Output })
}

func (f *Filter) apply(text, whose string, applies func(Rule) bool) (string, error) {
	if f == nil {
		return text, nil
	}
	for _, r := range f.rules {
		if !applies(r.Rule) {
			continue
		}
		for _, re := range r.block {
			if !re.MatchString(text) {
				continue
			}
			if r.Message != "" {
				return "", tool.Errorf("filter.apply", tool.Denied, "%s", r.Message)
			}
			return "", tool.Errorf("filter.apply", tool.Denied, "%s is refused by the app's content filter", whose).
				WithHint("say it differently")
		}
		if r.Secrets {
			text = MaskSecrets(text)
		}
		instead := masked
		if r.Instead != nil {
			instead = *r.Instead
		}
		for _, re := range r.mask {
			text = re.ReplaceAllLiteralString(text, instead)
		}
	}
	return text, nil
}
