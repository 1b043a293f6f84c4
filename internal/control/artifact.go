package control

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"callgate/internal/resulttext"
	"callgate/tool"
)

// The bounds of one reading. A model is given whole lines, within a result's usual size.
const (
	maxReadLines = 2000
	maxReadBytes = 32 << 10
	// maxReadResult lets a reading through the gate's own cut, which would cut it again.
	maxReadResult = 64 << 10
)

// ArtifactTool makes artifact.read, by which a model reads the rest of a result that
// was cut. read returns the text that is kept of a call's result, if the caller may
// read it.
func ArtifactTool(read func(ctx context.Context, call tool.Call, ref string) (string, error)) *tool.Tool {
	const text = "Read the rest of a result that was cut, by the ref in its last line: numbered lines from offset on, " +
		"or only those that match pattern."
	const schema = `{"type":"object","properties":{
		"ref":{"type":"string","minLength":1,"maxLength":200,"description":"as the cut result gives it"},
		"offset":{"type":"integer","minimum":1,"default":1,"description":"the first line"},
		"limit":{"type":"integer","minimum":1,"maximum":2000,"default":2000},
		"pattern":{"type":"string","maxLength":500,"description":"a regular expression"}},"required":["ref"]}`
	run := func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		in := readArgs{Offset: 1, Limit: maxReadLines}
		if err := parseArgs(call, &in); err != nil {
			return nil, err
		}
		pattern, err := regexp.Compile(in.Pattern)
		if err != nil {
			return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "the pattern is not a regular expression: %v", err).
				WithHint("write it in Go's syntax; a text that is meant literally may need backslashes")
		}
		kept, err := read(ctx, call, strings.TrimSpace(in.Ref))
		if err != nil {
			return nil, err
		}
		lines := resulttext.Lines(kept)
		if in.Pattern != "" {
			return in.matches(lines, pattern)
		}
		return in.page(lines)
	}
	t := define("artifact", "read", text, schema, run)
	t.Runtime.MaxResult = maxReadResult
	return t
}

// readArgs is the arguments of artifact.read.
type readArgs struct {
	Ref     string
	Offset  int
	Limit   int
	Pattern string
}

// page returns the lines from offset on.
func (in readArgs) page(lines []string) (*tool.Result, error) {
	if in.Offset > len(lines) {
		return nil, tool.Errorf("artifact.read", tool.Invalid, "offset %d is past the last line; there are %d",
			in.Offset, len(lines)).WithHint("begin at an earlier line")
	}
	var b numbered
	at := in.Offset - 1
	for at < len(lines) && at-in.Offset+1 < in.Limit && b.add(at+1, lines[at]) {
		at++
	}
	summary := fmt.Sprintf("lines %d–%d of %d", in.Offset, at, len(lines))
	r := &tool.Result{Status: tool.Success, Summary: summary, Content: []tool.Content{tool.Text(b.String())}}
	if at < len(lines) {
		r.Cut = &tool.Cut{
			Unit: "lines", First: in.Offset, Last: at, Total: len(lines), Next: fmt.Sprintf("offset=%d", at+1),
		}
	} else if in.Offset > 1 { // a reader need not ask for more
		r.Cut = &tool.Cut{Unit: "lines", First: in.Offset, Last: at, Total: len(lines), Advice: "this is the end"}
	}
	return r, nil
}

// matches returns the lines from offset on that match the pattern.
func (in readArgs) matches(lines []string, pattern *regexp.Regexp) (*tool.Result, error) {
	var b numbered
	found, shown, next := 0, 0, 0
	for i, line := range lines[min(in.Offset-1, len(lines)):] {
		if !pattern.MatchString(strings.TrimSuffix(line, "\n")) {
			continue
		}
		found++
		if next == 0 && shown < in.Limit && b.add(in.Offset+i, line) {
			shown++
		} else if next == 0 {
			next = in.Offset + i
		}
	}
	if found == 0 {
		return tool.OK(fmt.Sprintf("nothing matches %q in lines %d–%d",
			tool.Truncate(in.Pattern), in.Offset, len(lines)), nil)
	}
	r := &tool.Result{
		Status: tool.Success, Summary: fmt.Sprintf("%d of %d lines match", found, len(lines)),
		Content: []tool.Content{tool.Text(b.String())},
	}
	if next > 0 {
		r.Cut = &tool.Cut{Unit: "matches", Last: shown, Total: found, Next: fmt.Sprintf("offset=%d", next)}
	}
	return r, nil
}

// numbered is a text of numbered lines, within maxReadBytes.
type numbered struct{ strings.Builder }

// add adds a line, unless it is one too many.
func (b *numbered) add(number int, line string) bool {
	text := fmt.Sprintf("%6d\t%s\n", number, strings.TrimSuffix(line, "\n"))
	if b.Len() > 0 && b.Len()+len(text) > maxReadBytes {
		return false
	}
	b.WriteString(text)
	return true
}
