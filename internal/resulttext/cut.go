package resulttext

import (
	"fmt"
	"strings"

	"callgate/tool"
)

// CutLine returns the line that tells of a cut: which part is shown, of how much,
// and how to get the rest with the tools that the reader has. It is "" for nil.
func CutLine(c *tool.Cut, names Names) string {
	if c == nil {
		return ""
	}
	first := max(c.First, 1)
	shown := fmt.Sprintf("%s %d–%d", c.Unit, first, c.Last)
	switch {
	case c.Last < first: // nothing is shown from there
		shown = "no " + c.Unit
	case c.Total == 0 && first == 1 && c.Last == 1 && c.Tail == 0:
		shown = "the first " + singular(c.Unit)
	case c.Total == 0 && first == 1 && c.Tail == 0:
		shown = fmt.Sprintf("the first %d %s", c.Last, c.Unit)
	case first == c.Last:
		shown = fmt.Sprintf("%s %d", singular(c.Unit), first)
	}
	if c.Tail > 0 {
		shown += fmt.Sprintf(" and %d–%d", c.Tail, c.Total)
	}
	sep := "; "
	if c.Total > 0 {
		shown += fmt.Sprintf(" of %d", c.Total)
	} else {
		shown, sep = shown+"; there are more", ": "
	}
	var next []string
	switch name := names.called(c.Tool); {
	case c.Next == "" || c.Tool != "" && name == "":
	case c.Tool != "":
		next = append(next, "continue with "+name+" "+c.Next)
	default:
		next = append(next, "continue with "+c.Next)
	}
	if c.Advice != "" {
		next = append(next, c.Advice)
	}
	if len(next) > 0 {
		shown += sep + strings.Join(next, ", or ")
	}
	return "[" + shown + "]"
}

// singular returns a unit for one of it.
func singular(unit string) string {
	if stem, ok := strings.CutSuffix(unit, "ches"); ok {
		return stem + "ch"
	}
	if stem, ok := strings.CutSuffix(unit, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(unit, "s")
}
