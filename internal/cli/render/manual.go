package render

import (
	"io"
	"strings"

	"callgate/internal/cli/argv"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
)

// Chapter is what a manual of tools says of one module.
type Chapter struct {
	Module      string
	Settings    []Setting // of an app file: how it works
	Constraints []Setting // of an app file: what it may do
	Tools       []protocol.Tool
}

// Setting is one key that an app file may give a module.
type Setting struct{ Key, About string }

// Manual writes chapters as a page of Markdown. What tools say of themselves may be
// anybody's: it can end no table and begin no heading.
func Manual(w io.Writer, chapters []Chapter) error {
	p := &page{}
	for i, c := range chapters {
		if i > 0 {
			p.WriteByte('\n')
		}
		p.printf("## %s\n", text.OneLine(c.Module))
		p.settings("`config`: how the module works.", c.Settings)
		p.settings("`constraints`: what it may do.", c.Constraints)
		for _, t := range c.Tools {
			if err := p.entry(t); err != nil {
				return err
			}
		}
	}
	return p.writeTo(w)
}

func (p *page) settings(about string, all []Setting) {
	if len(all) == 0 {
		return
	}
	p.printf("\n%s\n\n| key | means |\n|---|---|\n", about)
	for _, s := range all {
		p.printf("| `%s` | %s |\n", text.OneLine(s.Key), cell(s.About))
	}
}

// entry writes one tool.
func (p *page) entry(t protocol.Tool) error {
	params, err := argv.Params(t.Input)
	if err != nil {
		return err
	}
	p.printf("\n### %s\n\n", text.OneLine(t.Name))
	for line := range strings.SplitSeq(strings.TrimSpace(text.Safe(t.Description)), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			line = `\` + strings.TrimSpace(line)
		}
		p.printf("%s\n", line)
	}
	if len(params) > 0 {
		p.printf("\n| parameter | takes | means |\n|---|---|---|\n")
	}
	for _, param := range params {
		p.printf("| `%s` | %s | %s |\n", text.OneLine(param.Name), cell(kindOf(param)), cell(param.Description))
	}
	p.printf("\n- Risk %s, side effect %s%s; policy %s.\n", risk(t.Risk).Text,
		text.OneLine(string(t.SideEffect)), idempotence(t.Idempotent), policy(t.Policy).Text)
	if claims := claimed(t.Claims); claims != "" {
		p.printf("- Claims %s.\n", cell(claims))
	}
	if others := names(t); len(others) > 0 {
		p.printf("- Also called %s.\n", "`"+text.OneLine(strings.Join(others, "`, `"))+"`")
	}
	return nil
}

// cell is text that stays within its place in a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(text.OneLine(s))
}
