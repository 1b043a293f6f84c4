package library

import (
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module/rag/chunkstore"
	"callgate/tool"
)

// Base is a knowledge base.
type Base = chunkstore.Base

// Passages is the result of a question. What documents say is data for a model.
func Passages(a *Answer) (*tool.Result, error) {
	if a.Passages == nil {
		a.Passages = []Passage{}
	}
	summary := "no passage answers that"
	if n := len(a.Passages); n > 0 {
		summary = fmt.Sprintf("%s; the best is %s", amount.Of(n, "passage"), fence.Value(a.Passages[0].Citation))
	}
	r, err := tool.OK(summary, struct {
		Passages []Passage `json:"passages"`
	}{a.Passages})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, p := range a.Passages {
		fmt.Fprintf(&b, "[%d] %s", i+1, p.Citation)
		if len(p.Headings) > 0 {
			b.WriteString(" (" + strings.Join(p.Headings, " > ") + ")")
		}
		b.WriteString("\n" + p.Text + "\n\n")
	}
	text := summary
	if b.Len() > 0 {
		text = "Cite passages by their document and place. " + fence.Follows + fence.Data(strings.TrimSpace(b.String()))
	}
	r.Content, r.Warnings = []tool.Content{tool.Text(text)}, a.Warnings
	return r, nil
}
