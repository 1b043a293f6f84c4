package hooks

import (
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/condition"
	"callgate/internal/hook"
)

// conditionKeys are the keys that each condition takes beside its type.
var conditionKeys = map[hook.ConditionType]string{
	hook.AllOf: "conditions", hook.AnyOf: "conditions", hook.Not: "condition", hook.ToolName: "match value",
	hook.ContentContains: "keyword", hook.ErrorType: "match value", hook.TurnCount: "threshold every",
	hook.ToolCalls: "threshold", hook.MessageCount: "threshold", hook.ContextPressure: "threshold",
	hook.Expression: "expr",
}

// conditionDefaults are the thresholds of conditions that name none.
var conditionDefaults = map[hook.ConditionType]float64{
	hook.ToolCalls: 20, hook.MessageCount: 50, hook.ContextPressure: 0.75,
}

// condition reads when a hook fires.
func (b *block) condition(e node.Entry, on hook.Event) (c hook.Condition) {
	var kind string
	var threshold *float64
	given := map[string]node.Entry{}
	reads := map[string]node.Read{"type": b.Choice(&kind, hook.ConditionTypes()...)}
	for key, read := range map[string]node.Read{
		"conditions": func(in node.Entry) {
			for _, one := range b.Items(in, "a list of conditions", "write - {type: tool_failed}") {
				c.Inner = append(c.Inner, b.condition(one, on))
			}
		},
		"condition": func(in node.Entry) { c.Inner = append(c.Inner, b.condition(in, on)) },
		"match":     func(in node.Entry) { c.Match = b.globs(in) },
		"value":     func(in node.Entry) { c.Match = b.globs(in) },
		"keyword":   b.TextInto(&c.Keyword),
		"threshold": b.Decimal(&threshold, 0, 1_000_000_000),
		"every":     b.Number(&c.Every, 1, 1_000_000, "write a number of turns, such as 5"),
		"expr":      func(in node.Entry) { c.Expr = b.expression(in, on) },
	} {
		reads[key] = func(in node.Entry) {
			given[key] = in
			read(in)
		}
	}
	b.Mapping(levelCondition, e, reads)
	if kind == "" {
		if b.Position(e.Below("type")) == (node.Position{}) {
			b.Fail(e.At, "write type: and one of "+strings.Join(hook.ConditionTypes(), ", "), "%s has no type", e.Name())
		}
		return c
	}
	c.Type = hook.ConditionType(kind)
	if !b.fits(e, given, kind, conditionKeys[c.Type]) {
		return c
	}
	c.Least = conditionDefaults[c.Type]
	if threshold != nil {
		c.Least = *threshold
	}
	b.complete(e, c)
	return c
}

// complete reports what a condition lacks.
func (b *block) complete(e node.Entry, c hook.Condition) {
	lacks := func(key string, missing bool) {
		if missing && b.Position(e.Below(key)) == (node.Position{}) {
			b.Fail(e.At, "write "+key+": …", "%s is %s, and has no %s", e.Name(), c.Type, key)
		}
	}
	switch c.Type {
	case hook.Not:
		lacks("condition", len(c.Inner) == 0)
	case hook.AllOf, hook.AnyOf:
		lacks("conditions", len(c.Inner) == 0)
	case hook.ToolName, hook.ErrorType:
		lacks("match", c.Match == nil && b.Position(e.Below("value")) == (node.Position{}))
	case hook.ContentContains:
		lacks("keyword", c.Keyword == "")
	case hook.Expression:
		lacks("expr", c.Expr == nil)
	case hook.TurnCount:
		lacks("threshold", c.Least == 0 && c.Every == 0)
	}
}

// fits reports keys that something of a type does not take.
func (b *block) fits(e node.Entry, given map[string]node.Entry, kind, takes string) bool {
	ok := true
	for key, in := range given {
		if strings.Contains(" "+takes+" ", " "+key+" ") {
			continue
		}
		remedy := "delete it: " + kind + " takes no keys beside its type"
		if takes != "" {
			remedy = kind + " takes " + strings.Join(strings.Fields(takes), ", ")
		}
		b.Fail(in.KeyAt, remedy, "%s has no key %s where its type is %s", e.Name(), node.Quote(key), kind)
		ok = false
	}
	return ok
}

// globs reads the patterns of names: one, or a list.
func (b *block) globs(e node.Entry) *hook.Matcher {
	var patterns []string
	if e.IsList() {
		b.Texts(&patterns, "name tools, such as [filesystem.write, Edit]")(e)
	} else if text, ok := b.Text(e); ok {
		patterns = []string{text}
	}
	if len(patterns) == 0 {
		return nil
	}
	m, err := hook.CompileGlobs(patterns...)
	if err != nil {
		b.Fail(e.At, "write a name, with * for any part of it, such as filesystem.*", "%s: %v", e.Name(), err)
	}
	return m
}

func (b *block) expression(e node.Entry, on hook.Event) *condition.Condition {
	text, ok := b.Text(e)
	if !ok {
		return nil
	}
	c, err := condition.Compile(text, hook.Env(on))
	if err != nil {
		b.FailExpression(e, err)
	}
	return c
}
