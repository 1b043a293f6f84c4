package editpreview

import (
	"encoding/json"
	"strings"

	"callgate/internal/linediff"
	"callgate/internal/protocol"
)

// patchLines are the lines of the patch that a call would apply; nil for any other call.
func patchLines(r protocol.Approval) []linediff.Line {
	var args struct{ Patch string }
	if r.Call.Tool.Dotted() != "filesystem.apply_patch" || json.Unmarshal(r.Call.Args, &args) != nil {
		return nil
	}
	var lines []linediff.Line
	for line := range strings.Lines(args.Patch) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "", strings.HasPrefix(line, "*** Begin Patch"), strings.HasPrefix(line, "*** End Patch"):
		case line[0] == '+' && !strings.HasPrefix(line, "+++ "), line[0] == '-' && !strings.HasPrefix(line, "--- "),
			line[0] == ' ':
			lines = append(lines, linediff.Line{Sign: line[0], Text: line[1:]})
		default:
			lines = append(lines, linediff.Line{Sign: '@', Text: line})
		}
	}
	return lines
}
