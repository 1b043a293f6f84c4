package argv

import (
	"fmt"
	"strings"

	"callgate/internal/nearest"
	"callgate/tool"
)

func (r *reader) invalid(format string, args ...any) *tool.Error {
	return tool.Errorf("argv.Parse", tool.Invalid, format, args...)
}

// unknown is the error for a flag that neither the tool nor the command has.
func (r *reader) unknown() error {
	name := strings.TrimLeft(r.token, "-")
	name, _, _ = strings.Cut(name, "=")
	e := r.invalid("%s has no parameter --%s", r.Tool, tool.Truncate(name))
	known := make([]string, 0, len(r.Params)+len(r.Command.Own))
	for _, p := range r.Params {
		known = append(known, p.Flag())
	}
	for _, o := range append([]CommandFlag{{Name: argsFlag}}, r.Command.Own...) {
		known = append(known, o.Name)
	}
	for _, near := range nearest.Names(strings.ReplaceAll(name, "_", "-"), known, 3) {
		e.Similar = append(e.Similar, "--"+near)
	}
	return e.WithHint("%s", r.listed())
}

// strayWord is the error for a word that belongs to no flag.
func (r *reader) strayWord() error {
	e := r.invalid("%q stands alone; %s takes its parameters as flags", tool.Truncate(r.token), r.Tool)
	for _, p := range r.Params {
		if p.Required && r.values[p.Name] == nil {
			e.Similar = []string{"--" + p.Flag() + " " + ShellQuote(tool.Truncate(r.token))}
			break
		}
	}
	return e.WithHint("%s", r.listed())
}

// listed writes the parameters as a phrase.
func (r *reader) listed() string {
	if len(r.Params) == 0 {
		return "it takes no parameters"
	}
	var b strings.Builder
	b.WriteString("its parameters: ")
	for i, p := range r.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "--%s", p.Flag())
		if p.Required {
			b.WriteString(" (required)")
		}
	}
	return b.String()
}
