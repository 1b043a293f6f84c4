package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
)

// Grants writes the table of lasting grants.
func (s Style) Grants(w io.Writer, list []protocol.Grant) error {
	rows := make([][]Cell, len(list))
	for i, g := range list {
		last := "never"
		if !g.Uses.Last.IsZero() {
			last = s.ago(g.Uses.Last)
		}
		rows[i] = []Cell{
			Bold(g.ID), Plain(g.Tool), Plain(grantText(g)), Plain(grantPlace(g)), s.grantEnd(g),
			Plain(fmt.Sprint(g.Uses.Count)), Plain(last),
		}
	}
	return s.Table(w, []string{"ID", "TOOL", "COVERS", "WHERE", "UNTIL", "USED", "LAST USED"}, rows)
}

// grantText says what a grant covers. The place is written apart from it.
func grantText(g protocol.Grant) string {
	if g.Exact {
		return "exactly " + arguments.OneLine(exactArguments(g.Match), 80)
	}
	short, _, _ := strings.Cut(g.Text, ", in ")
	return visible.Text(short)
}

// exactArguments are the arguments that a pattern allows, where it allows one call alone.
func exactArguments(match json.RawMessage) json.RawMessage {
	var only struct {
		Arguments json.RawMessage `json:"="`
	}
	if json.Unmarshal(match, &only) == nil && only.Arguments != nil {
		return only.Arguments
	}
	return match
}

func grantPlace(g protocol.Grant) string {
	switch {
	case g.App != "":
		return "the app " + visible.Text(g.App) + ", at every node"
	case g.Folder == "":
		return "everywhere"
	}
	return visible.Text(g.Folder)
}

func (s Style) grantEnd(g protocol.Grant) Cell {
	switch {
	case g.Until.IsZero():
		return Plain("revoked")
	case !s.now().Before(g.Until):
		return Cell{"ended " + g.Until.Local().Format(time.DateOnly), warn}
	}
	return Plain(g.Until.Local().Format("2006-01-02 15:04"))
}

// Grant writes a lasting grant, and the records of the last calls it let through.
func (s Style) Grant(w io.Writer, g protocol.Grant, records []protocol.Record) error {
	p := &page{Style: s}
	p.printf("%s  %s\n", s.Strong(visible.Text(g.Tool)), s.Faint(text.OneLine(g.ID)))
	end := s.grantEnd(g)
	used := "never"
	if g.Uses.Count > 0 {
		used = amount.Of(g.Uses.Count, "time") + ", last " + stamp(g.Uses.Last)
	}
	p.fields([]field{
		{"covers", visible.Text(g.Text)},
		{"where", grantPlace(g)},
		{"app file", visible.Text(g.AppFile)},
		{"until", s.paint(end.color, end.Text)},
		{"made", fmt.Sprintf("%s by %s", stamp(g.Made), text.OneLine(g.By))},
		{"from approval", text.OneLine(g.Approval)},
		{"used", used},
	}...)
	p.block("pattern", g.Match)
	if len(records) == 0 {
		return p.writeTo(w)
	}
	p.printf("\n%s\n", s.Faint("the last calls it let through"))
	if err := p.writeTo(w); err != nil {
		return err
	}
	for _, r := range records {
		if err := s.Record(w, r); err != nil {
			return err
		}
	}
	return nil
}

// GrantSuggestions writes patterns that were approved again and again.
func (s Style) GrantSuggestions(w io.Writer, list []protocol.GrantSuggestion) error {
	p := &page{Style: s}
	for i, one := range list {
		p.printf("%d  %s  %s\n", i+1, s.Strong(visible.Text(one.Grant.Tool)), visible.Text(one.Grant.Text))
		p.fields(
			field{"where", grantPlace(one.Grant)},
			field{"approved", amount.Of(one.Approved, "time") + ", never denied, last " + stamp(one.Last)})
		for _, args := range one.Examples {
			p.printf("     %s\n", text.Compact(args, 100))
		}
	}
	return p.writeTo(w)
}
