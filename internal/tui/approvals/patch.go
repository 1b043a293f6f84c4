package approvals

import (
	"encoding/json"
	"strings"

	"callgate/internal/protocol"
	"callgate/internal/tui/diff"
)

// patchLines are the lines of the patch that a call would apply; nil for any other call.
func patchLines(r protocol.Approval) []diff.Line {
	var args struct{ Patch string }
	if r.Call.Tool.Dotted() != "filesystem.apply_patch" || json.Unmarshal(r.Call.Args, &args) != nil {
		return nil
	}
	var lines []diff.Line
	for line := range strings.Lines(args.Patch) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "", strings.HasPrefix(line, "*** Begin Patch"), strings.HasPrefix(line, "*** End Patch"):
		case line[0] == '+' && !strings.HasPrefix(line, "+++ "), line[0] == '-' && !strings.HasPrefix(line, "--- "),
			line[0] == ' ':
			lines = append(lines, diff.Line{Sign: line[0], Text: line[1:]})
		default:
			lines = append(lines, diff.Line{Sign: '@', Text: line})
		}
	}
	return lines
}
