package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/tui/termtext"
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
}

const (
	maxOutput = 64 << 10 // bytes of output that are kept
	tailLines = 5        // of output that are shown while the call runs
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

// Lines lays the call out: its head, its output or what it waits for, and its end.
func (c *Call) Lines(width int, open bool) []string {
	lines := []string{c.head(width)}
	add := func(text string, paint func(string) string, most int) {
		wrapped := termtext.Wrap(termtext.Safe(strings.Trim(tool.TruncateTo(text, maxOutput), "\n")), width-4)
		for i, line := range wrapped {
			if i == most {
				lines = append(lines, termtext.Faint(fmt.Sprintf("  │ … %s more", amount.Of(len(wrapped)-most, "line"))))
				break
			}
			lines = append(lines, termtext.Faint("  │ ")+paint(line))
		}
	}
	if open && len(c.Args) > 2 {
		add(pretty(c.Args), termtext.Faint, maxLines)
	}
	switch {
	case open && c.output != "":
		add(visibleOutput(c.output), same, maxLines)
	case c.Result == nil && c.output != "":
		add(tail(visibleOutput(c.output), tailLines), termtext.Faint, tailLines)
	}
	if c.Result == nil {
		if c.Waiting != "" {
			lines = append(lines, termtext.Warn(termtext.Truncate("  "+termtext.OneLine(c.Waiting), width)))
		}
		return lines
	}
	lines = append(lines, c.end(width)...)
	most := c.Shown
	if open {
		most = maxLines
	}
	if most > 0 && (c.Result.Status == tool.Success || c.Shown > 0) {
		for _, part := range c.Result.Content {
			add(part.Text, same, most)
		}
		if len(c.Result.Content) == 0 && len(c.Result.Data) > 2 {
			add(pretty(c.Result.Data), same, maxLines)
		}
	}
	return lines
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
		span = " " + Duration(c.Took)
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
	name = ToolName(name)
	var inner struct {
		Name   string          `json:"name"`
		Params json.RawMessage `json:"params"`
	}
	if strings.HasSuffix(name, "execute_tool") && json.Unmarshal(args, &inner) == nil && inner.Name != "" {
		name, args = ToolName(inner.Name), inner.Params
	}
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		b.Reset()
		b.Write(args)
	}
	if b.String() == "{}" || b.String() == "null" {
		b.Reset()
	}
	return name, termtext.OneLine(tool.TruncateTo(b.String(), 2_000))
}

// ToolName is the dotted name of a tool, whichever form the model wrote.
func ToolName(name string) string { return termtext.OneLine(strings.ReplaceAll(name, "__", ".")) }

func pretty(data []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
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
