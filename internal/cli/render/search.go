package render

import (
	"fmt"
	"io"

	"callgate/internal/cli/text"
	"callgate/internal/protocol"
)

// SearchResult writes the tools that were found: for each its score, how it is
// called, what it does and why it was found.
func (s Style) SearchResult(w io.Writer, found *protocol.SearchResult) error {
	p := &page{Style: s}
	for i, answer := range found.Answers {
		if i > 0 {
			p.printf("\n")
		}
		if len(found.Answers) > 1 {
			p.printf("%s\n", s.Strong(text.OneLine(answer.Query)))
		}
		p.hits(answer)
	}
	return p.writeTo(w)
}

// hits writes what one query found.
func (p *page) hits(answer protocol.QueryResult) {
	if len(answer.Hits) == 0 {
		p.printf("no tools\n")
		return
	}
	for _, h := range answer.Hits {
		score := ""
		if answer.Query != "" {
			score = fmt.Sprintf("%5.2f  ", h.Score)
		}
		signature := p.fit("("+text.OneLine(h.Signature)+")", p.Width-len(score)-len(h.Name))
		p.printf("%s%s%s\n", score, p.Strong(text.OneLine(h.Name)), signature)
		p.printf("       %s\n", p.fit(text.OneLine(summary(h.Tool)), p.Width-7))
		if h.Why != "" {
			p.printf("       %s\n", p.Faint(p.fit(text.OneLine(h.Why), p.Width-7)))
		}
	}
	if shown := len(answer.Hits); answer.Total > shown {
		p.printf("%s\n", p.Faint(fmt.Sprintf("%d of %d; see --limit and --offset", shown, answer.Total)))
	}
}
