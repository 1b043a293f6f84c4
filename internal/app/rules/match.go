package rules

import (
	"callgate/internal/app/node"
	"callgate/internal/gate/policy"
)

const (
	levelExamples = levelRule + ".examples"
	matchForm     = `write parameters and what they must be, such as {path: "src/**"} or {command: git log *}`
	exampleForm   = "write the arguments of a call, such as {path: src/a.go}, or the text of its command"
)

// match reads which arguments a rule is about.
func (b *block) match(e node.Entry) map[string]any {
	if !e.IsMapping() {
		b.TypeError(e, "a mapping of parameters", matchForm)
		return nil
	}
	m, _ := b.Value(e).(map[string]any)
	return m
}

// examples reads calls that show what the match of a rule means.
func (b *block) examples(e node.Entry) (x policy.Examples) {
	b.Mapping(levelExamples, e, map[string]node.Read{
		"match":     func(in node.Entry) { x.Match = b.exampleList(in) },
		"not_match": func(in node.Entry) { x.NotMatch = b.exampleList(in) },
	})
	return x
}

func (b *block) exampleList(e node.Entry) (list []any) {
	if e.IsNull() {
		return nil
	}
	for _, in := range b.Items(e, "a list of examples", exampleForm) {
		if !in.IsMapping() && !in.IsText() {
			b.TypeError(in, "an example", exampleForm)
			continue
		}
		list = append(list, b.Value(in))
	}
	return list
}
