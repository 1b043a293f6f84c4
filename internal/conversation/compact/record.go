package compact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/llm"
	"callgate/tool"
)

// deed is one thing that was done again and again, or once: a file that was read or
// changed, a command that was run, another call. The record of deeds stands in every
// summary, whoever wrote the rest of it, since what was touched must not depend on a
// model's memory.
type deed struct {
	verb   string // read, changed, ran, called
	object string // the file, the command, the tool
	times  int
	note   string // how it ended the last time
}

// The verbs.
const (
	didRead   = "read"
	didChange = "changed"
	didRun    = "ran"
	didCall   = "called"
)

// maxDeeds bounds the record; what was read goes first, then what was called.
const maxDeeds = 80

func (d deed) String() string {
	line := "* " + d.verb + " " + d.object
	if d.times > 1 {
		line += fmt.Sprintf(" (×%d)", d.times)
	}
	if d.note != "" {
		line += ": " + d.note
	}
	return line
}

var deedLine = lazyregexp.New("^\\* (read|changed|ran|called) (`[^`]*`|\\S+)(?: \\(×(\\d{1,6})\\))?(?:: (.*))?$")

// splitRecord takes the record out of a summary.
func splitRecord(text string) (rest string, deeds []deed) {
	var others []string
	for line := range strings.SplitSeq(text, "\n") {
		m := deedLine.FindStringSubmatch(line)
		if m == nil {
			others = append(others, line)
			continue
		}
		times, _ := strconv.Atoi(m[3]) // digits, or nothing
		deeds = append(deeds, deed{m[1], m[2], max(times, 1), m[4]})
	}
	return strings.TrimSpace(strings.Join(others, "\n")), deeds
}

// addDeeds extends a record. What is done again moves to the end.
func addDeeds(deeds []deed, more ...deed) []deed {
	for _, d := range more {
		same := func(e deed) bool { return e.verb == d.verb && e.object == d.object }
		if i := slices.IndexFunc(deeds, same); i >= 0 {
			d.times += deeds[i].times
			deeds = slices.Delete(deeds, i, i+1)
		}
		deeds = append(deeds, d)
	}
	return leaveOut(deeds, func(d []deed) bool { return len(d) > maxDeeds })
}

// leaveOut drops deeds as long as there are too many: the oldest of what was read first,
// and what was changed last.
func leaveOut(deeds []deed, tooMany func([]deed) bool) []deed {
	for _, verb := range []string{didRead, didCall, didRun, didChange} {
		for tooMany(deeds) {
			i := slices.IndexFunc(deeds, func(d deed) bool { return d.verb == verb })
			if i < 0 {
				break
			}
			deeds = slices.Delete(deeds, i, i+1)
		}
	}
	return deeds
}

// writeRecord writes a record: first what was changed, then the rest, the newest last.
func writeRecord(deeds []deed) string {
	var lines []string
	for _, changed := range []bool{true, false} {
		for _, d := range deeds {
			if (d.verb == didChange) == changed {
				lines = append(lines, d.String())
			}
		}
	}
	return strings.Join(lines, "\n")
}

// deedsOf reads what was done from the calls of messages and their results.
func deedsOf(messages []Message) (deeds []deed) {
	results := map[string]*llm.ToolResult{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				results[p.Result.ID] = p.Result
			}
		}
	}
	for _, m := range messages {
		for _, c := range m.Calls() {
			deeds = addDeeds(deeds, deedOf(c, results[c.ID])...)
		}
	}
	return deeds
}

// verbs are what the tools do that agents use most, by the last word of their names, in
// whatever program they are.
var verbs = map[string]string{
	"read": didRead, "readfile": didRead, "viewfile": didRead, "viewimage": didRead,
	"write": didChange, "writefile": didChange, "createfile": didChange, "edit": didChange, "editfile": didChange,
	"multiedit": didChange, "applypatch": didChange, "replace": didChange, "move": didChange, "movefile": didChange,
	"delete": didChange, "deletefile": didChange, "notebookedit": didChange,
	"bash": didRun, "shell": didRun, "runshellcommand": didRun, "execcommand": didRun, "runcommand": didRun,
}

// deedOf is what one call did.
func deedOf(c llm.ToolCall, r *llm.ToolResult) []deed {
	name, args := c.Name, map[string]any{}
	_ = json.Unmarshal(c.Args, &args) // arguments that are none name nothing
	if inner, ok := args["name"].(string); ok && lastWord(name) == "executetool" {
		name = inner
		inside, _ := args["params"].(map[string]any)
		if text, isText := args["params"].(string); isText {
			_ = json.Unmarshal([]byte(text), &inside)
		}
		args = inside
	}
	verb := verbs[lastWord(name)]
	note := outcome(verb, r)
	switch verb {
	case didRun:
		if command := argument(args, "command", "cmd"); command != "" {
			return []deed{{didRun, quoted(command), 1, note}}
		}
	case didRead, didChange:
		var all []deed
		for _, path := range pathsOf(args) {
			all = append(all, deed{verb, quoted(path), 1, note})
		}
		if len(all) > 0 {
			return all
		}
	}
	return []deed{{didCall, quoted(name), 1, note}}
}

// lastWord is the last part of a tool's name, without case and separators.
func lastWord(name string) string {
	for _, separator := range []string{".", "__", "/", ":"} {
		if i := strings.LastIndex(name, separator); i >= 0 {
			name = name[i+len(separator):]
		}
	}
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

func argument(args map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := args[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

var patchFile = lazyregexp.New(`(?m)^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b/)?)(\S+)`)

// pathsOf are the files that a call names.
func pathsOf(args map[string]any) (paths []string) {
	for _, name := range []string{
		"path", "file_path", "from", "source", "to", "destination", "absolute_path", "notebook_path",
	} {
		if text, ok := args[name].(string); ok && text != "" && !slices.Contains(paths, text) {
			paths = append(paths, text)
		}
	}
	if patch := argument(args, "patch", "input"); len(paths) == 0 && patch != "" {
		for _, m := range patchFile.FindAllStringSubmatch(patch, 20) {
			if !slices.Contains(paths, m[1]) {
				paths = append(paths, m[1])
			}
		}
	}
	return paths
}

// quoted is an object on one line, in quotes where it has spaces.
func quoted(text string) string {
	text = tool.TruncateTo(strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "'")), " "), 160)
	if strings.ContainsAny(text, " \t") || text == "" {
		return "`" + text + "`"
	}
	return text
}

// outcome is how a call ended, in a line: nothing for a file that was read or changed
// well.
func outcome(verb string, r *llm.ToolResult) string {
	if r == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(r.Text()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	short := func(text string) string { return tool.TruncateTo(strings.Join(strings.Fields(text), " "), 160) }
	switch {
	case len(lines) == 0:
		return ""
	case r.IsError && verb != didRun:
		return "failed: " + short(lines[0])
	case verb == didRun: // what a command says last tells most
		return short(strings.Join(lines[max(0, len(lines)-2):], " / "))
	case verb == "":
		return short(lines[0])
	}
	return ""
}
