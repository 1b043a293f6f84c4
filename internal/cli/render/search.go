package render

import (
	"fmt"
	"io"

	"callgate/internal/protocol"
)

// SearchResult writes the tools that were found: for each the score, how it is
// called, what it does and why it was found.
func (s Style) SearchResult(w io.Writer, found *protocol.SearchResult) error {
	for i, answer := range found.Answers {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if len(found.Answers) > 1 {
			if _, err := fmt.Fprintln(w, s.Strong(oneLine(answer.Query))); err != nil {
				return err
			}
		}
		if err := s.foundFor(w, answer); err != nil {
			return err
		}
	}
	return nil
}

func (s Style) foundFor(w io.Writer, answer protocol.QueryResult) error {
	if len(answer.Hits) == 0 {
		_, err := fmt.Fprintln(w, "no tools")
		return err
	}
	for _, h := range answer.Hits {
		score := ""
		if answer.Query != "" {
			score = fmt.Sprintf("%5.2f  ", h.Score)
		}
		lines := []string{
			score + s.Strong(oneLine(h.Name)) + s.fit("("+oneLine(h.Signature)+")", s.Width-len(score)-len(h.Name)),
			"       " + s.fit(oneLine(about(h.Tool)), s.Width-7),
		}
		if h.Why != "" {
			lines = append(lines, "       "+s.Faint(s.fit(oneLine(h.Why), s.Width-7)))
		}
		for _, line := range lines {
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	if shown := len(answer.Hits); answer.Total > shown {
		_, err := fmt.Fprintln(w, s.Faint(fmt.Sprintf("%d of %d; see --limit and --offset", shown, answer.Total)))
		return err
	}
	return nil
}
