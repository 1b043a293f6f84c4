package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"callgate/internal/amount"
	"callgate/internal/tui/termtext"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// Call is a call of the model, running or ended.
type Call struct {
	Name    string
	Args    json.RawMessage
	Began   time.Time
	Took    time.Duration // so far, or until it ended; 0: unknown
	Waiting string        // what the call waits for; "": nothing
	Result  *tool.Result  // nil while it runs
	Shown   int           // lines of the result that are shown also when details are not
	output  string
	inner   []Inner // of a script: the calls that it made
}

const (
	maxOutput = 64 << 10 // bytes of output that are kept
	tailLines = 5        // of output that are shown while the call runs
	diffLines = 12       // of a change that are shown
	maxLines  = 400      // of each part of the details
)

// AddOutput adds output of the call.
func (c *Call) AddOutput(text string) {
	c.output += text
	if over := len(c.output) - maxOutput; over > 0 {
		c.output = c.output[over:]
		if i := strings.IndexByte(c.output, '\n'); i >= 0 {
			c.output = c.output[i+1:]
		}
	}
}

// Lines lays the call out: its head, its output or what it waits for, its end, and
// what came of it: the change of a file, the last lines of a command that failed.
func (c *Call) Lines(width int, open bool) []string {
	lines := []string{c.head(width)}
	if open && len(c.Args) > 2 {
		text := strings.Join(arguments.Lines(innerArgs(c.Name, c.Args)), "\n")
		lines = append(lines, boxed(text, width, termtext.Faint, maxLines)...)
	}
	lines = append(lines, c.innerLines(width, open)...)
	output := visibleOutput(c.output)
	switch {
	case open && output != "" && !c.repeats(output):
		lines = append(lines, boxed(output, width, same, maxLines)...)
	case c.Result == nil && output != "":
		lines = append(lines, boxed(tail(output, tailLines), width, termtext.Faint, tailLines)...)
	}
	if c.Result == nil {
		if c.Waiting != "" {
			lines = append(lines, termtext.Warn(termtext.Truncate("  "+termtext.OneLine(c.Waiting), width)))
		}
		return lines
	}
	return append(append(lines, c.end(width)...), c.content(width, open)...)
}

// content is what the result says beside its summary.
func (c *Call) content(width int, open bool) []string {
	text, paint := c.resultText(), same
	isDiff := c.Result.Status == tool.Success && strings.HasPrefix(text, "@@ ")
	if isDiff {
		paint = paintDiff
	}
	switch {
	case open && text != "" && !c.printed(text):
		return boxed(text, width, paint, maxLines)
	case open && text == "" && len(c.Result.Data) > 2:
		return boxed(pretty(c.Result.Data), width, same, maxLines)
	case open:
		return nil
	case c.Shown > 0:
		return boxed(text, width, paint, c.Shown)
	case isDiff:
		return boxed(text, width, paint, diffLines)
	case c.Result.Status != tool.Success && c.output != "":
		return boxed(tail(visibleOutput(c.output), tailLines), width, termtext.Faint, tailLines)
	}
	return nil
}

// resultText is the text of the result; "" if it only says its summary again.
func (c *Call) resultText() string {
	var parts []string
	for _, part := range c.Result.Content {
		if text := strings.Trim(part.Text, "\n"); text != "" && text != strings.TrimSpace(c.Result.Summary) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// repeats reports whether the result holds all of the output.
func (c *Call) repeats(output string) bool {
	return c.Result != nil && strings.Contains(c.resultText(), strings.TrimSpace(output))
}

// printed reports whether the output holds all of a text, and is shown.
func (c *Call) printed(text string) bool {
	output := visibleOutput(c.output)
	return !c.repeats(output) && strings.Contains(output, strings.TrimSpace(text))
}

// boxed lays a text out below a call, in at most so many lines.
func boxed(text string, width int, paint func(string) string, most int) []string {
	var lines []string
	wrapped := termtext.Wrap(termtext.Safe(strings.Trim(tool.TruncateTo(text, maxOutput), "\n")), width-4)
	for i, line := range wrapped {
		if i == most {
			more := fmt.Sprintf("  │ … %s more", amount.Of(len(wrapped)-most, "line"))
			return append(lines, termtext.Faint(more))
		}
		lines = append(lines, termtext.Faint("  │ ")+paint(line))
	}
	return lines
}

// paintDiff paints a line of a change by its sign.
func paintDiff(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return termtext.Good(line)
	case strings.HasPrefix(line, "-"):
		return termtext.Bad(line)
	}
	return termtext.Faint(line)
}

func same(line string) string { return line }

// head is the call in one line: a mark, its name, its arguments, its duration.
func (c *Call) head(width int) string {
	mark := termtext.Accent("→")
	if c.Result != nil {
		switch c.Result.Status {
		case tool.Success:
			mark = termtext.Good("✓")
		case tool.Waiting:
			mark = termtext.Warn("…")
		default:
			mark = termtext.Bad("✗")
		}
	}
	name, args := target(c.Name, c.Args)
	span := ""
	if c.Took > 0 {
		span = " · " + Duration(c.Took)
	}
	room := width - 2 - termtext.Width(span)
	line := termtext.Truncate(name, room)
	if left := room - termtext.Width(line) - 1; left > 4 && args != "" {
		line = termtext.Strong(line) + " " + termtext.Faint(termtext.Truncate(args, left))
	} else {
		line = termtext.Strong(line)
	}
	return mark + " " + line + termtext.Faint(span)
}

// end says how the call ended.
func (c *Call) end(width int) []string {
	text := termtext.OneLine(c.Result.Summary)
	if c.Result.Status == tool.Success {
		if text == "" {
			return nil
		}
		return []string{termtext.Faint(termtext.Truncate("  "+text, width))}
	}
	var lines []string
	for i, line := range termtext.Wrap(text, width-2) {
		if i == 6 {
			break
		}
		lines = append(lines, termtext.Bad("  "+line))
	}
	return lines
}

// target is the tool that is called, and its arguments in one line. A call of
// execute_tool is shown as a call of the tool that it executes.
func target(name string, args json.RawMessage) (string, string) {
	if inner, ok := executed(name, args); ok {
		name, args = inner.Name, inner.Params
	}
	if string(args) == "null" {
		args = nil
	}
	return ToolName(name), termtext.OneLine(arguments.Brief(args, 2_000))
}

// innerArgs are the arguments of the tool that is called.
func innerArgs(name string, args json.RawMessage) json.RawMessage {
	if inner, ok := executed(name, args); ok {
		return inner.Params
	}
	return args
}

// innerCall is the call that execute_tool makes.
type innerCall struct {
	Name   string          `json:"name"`
	Params json.RawMessage `json:"params"`
}

func executed(name string, args json.RawMessage) (innerCall, bool) {
	var inner innerCall
	ok := strings.HasSuffix(ToolName(name), "execute_tool") && json.Unmarshal(args, &inner) == nil && inner.Name != ""
	return inner, ok
}

// ToolName is the dotted name of a tool, whichever form the model wrote.
func ToolName(name string) string { return termtext.OneLine(strings.ReplaceAll(name, "__", ".")) }

func pretty(data []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return readable(b.String())
}

// readable writes a JSON text as people write it: without escapes that only HTML or
// ASCII need, so that a shell command and an emoji stand there as they are. What a
// reader would not see stays an escape.
func readable(text string) string {
	if !strings.Contains(text, `\u`) {
		return termtext.JSON(text)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := escaped(text[i:])
		if utf16.IsSurrogate(r) {
			low, m := escaped(text[i+n:])
			r, n = utf16.DecodeRune(r, low), n+m
		}
		switch {
		case n > 0 && (r >= 0x80 && r != utf8.RuneError || strings.ContainsRune("&<>", r)):
			b.WriteRune(r)
			i += n
		case text[i] == '\\' && i+1 < len(text): // with what it escapes, which may be a backslash
			b.WriteString(text[i : i+2])
			i += 2
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return termtext.JSON(b.String())
}

// escaped reads the escape with which a JSON text begins: its code, and its length; 0:
// there is none.
func escaped(text string) (rune, int) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, 0
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(n), 6
}

// visibleOutput is output as a terminal shows it: of a line that was overwritten,
// the last form.
func visibleOutput(output string) string {
	if !strings.Contains(output, "\r") {
		return output
	}
	lines := strings.Split(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Duration writes a duration in short.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "< 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	default:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
}
