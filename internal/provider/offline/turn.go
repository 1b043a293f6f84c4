package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/search/lexical"
	"callgate/llm"
)

// turn is what the conversation says about where it is.
type turn struct {
	tools    []llm.ToolDef
	todo     []string   // the user's instructions
	attempts []*attempt // one for each that was begun
}

// attempt is what was done about one instruction.
type attempt struct {
	found []ToolMatch // what a search gave; nil: there was none yet
	done  bool
	tool  string
	text  string // what came back
	bad   bool
}

// notePrefix begins what the kernel tells a model between; it is not the user.
const notePrefix = "<note>"

// read finds the user's last words, and what was done about them.
func read(req llm.Request) *turn {
	t := &turn{tools: req.Tools}
	last := -1
	for i, m := range req.Messages {
		if m.Role == llm.User && !strings.HasPrefix(m.Text(), notePrefix) {
			last = i
		}
	}
	if last < 0 {
		return t
	}
	t.todo = instructions(req.Messages[last].Text())
	calls := map[string]llm.ToolCall{}
	for _, m := range req.Messages[last+1:] {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				calls[p.Call.ID] = *p.Call
			case p.Result != nil:
				t.addResult(calls[p.Result.ID], *p.Result)
			}
		}
	}
	return t
}

// addResult adds one call and what came of it.
func (t *turn) addResult(c llm.ToolCall, r llm.ToolResult) {
	at := len(t.attempts) - 1
	if at < 0 || t.attempts[at].done {
		t.attempts = append(t.attempts, &attempt{})
		at++
	}
	e := t.attempts[at]
	if c.Name == "search_tools" {
		e.found = searched(r.Text())
		return
	}
	e.done, e.tool, e.text, e.bad = true, called(c), r.Text(), r.IsError
}

// called is the tool that a call means.
func called(c llm.ToolCall) string {
	var in struct{ Name string }
	if c.Name == "execute_tool" && json.Unmarshal(c.Args, &in) == nil && in.Name != "" {
		return in.Name
	}
	return c.Name
}

// searched reads what search_tools answered.
func searched(text string) []ToolMatch {
	var answer struct {
		Tools []struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tools"`
	}
	found := []ToolMatch{}
	start := strings.IndexByte(text, '{')
	if start < 0 || json.NewDecoder(strings.NewReader(text[start:])).Decode(&answer) != nil {
		return found
	}
	for _, t := range answer.Tools {
		found = append(found, ToolMatch{Name: t.Name, Schema: t.Parameters})
	}
	return found
}

var separators = regexp.MustCompile(`(?i)\s*(?:;|\n+|,?\s+(?:and then|then|et puis|puis|und dann|danach|y luego|luego)\s+)\s*`)

// instructions cuts the user's words where one thing is to be done after
// another. What is quoted stays whole.
func instructions(text string) []string {
	var held []string
	bare := quoted.ReplaceAllStringFunc(strings.ReplaceAll(text, "\x00", " "), func(q string) string {
		held = append(held, q)
		return fmt.Sprintf("\x00%d\x00", len(held)-1)
	})
	var out []string
	for _, part := range separators.Split(bare, -1) {
		for i, q := range held {
			part = strings.ReplaceAll(part, fmt.Sprintf("\x00%d\x00", i), q)
		}
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	const most = 8
	return out[:min(most, len(out))]
}

var hello = regexp.MustCompile(`(?i)^\W*(?:hi|hello|hey|help|what can you do|bonjour|salut|aide|hallo|hilfe|hola|ayuda)\b[^a-z]*$`)

func greeting(words string) bool { return hello.MatchString(words) }

// offers returns a tool that is offered, by either of its names.
func (t *turn) offers(name string) *llm.ToolDef {
	wire := strings.ReplaceAll(name, ".", "__")
	for i := range t.tools {
		if t.tools[i].Name == name || t.tools[i].Name == wire {
			return &t.tools[i]
		}
	}
	return nil
}

// rank orders the offered tools by the words they share with what was asked.
func (t *turn) rank(words string) []ToolMatch {
	docs := make([]lexical.Doc, len(t.tools))
	for i, d := range t.tools {
		docs[i] = lexical.Doc{Name: strings.ReplaceAll(d.Name, "__", "."), Description: d.Description}
	}
	scores := lexical.Build(lexical.Options{}, docs).Query(words).Scores(nil)
	order := make([]int, 0, len(docs))
	for i, score := range scores {
		if score > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	found := []ToolMatch{}
	for _, i := range order[:min(5, len(order))] {
		found = append(found, ToolMatch{Name: t.tools[i].Name, Schema: t.tools[i].Schema})
	}
	return found
}

// report tells what came of everything that was done.
func (t *turn) report() string {
	var b strings.Builder
	for _, e := range t.attempts {
		if !e.done {
			continue
		}
		mark := ""
		if e.bad {
			mark = " failed"
		}
		fmt.Fprintf(&b, "%s%s%s:\n%s\n\n", Label, strings.ReplaceAll(e.tool, "__", "."), mark, shorten(e.text))
	}
	return b.String()
}

// shorten keeps the beginning of a long text.
func shorten(text string) string {
	const lines, bytes = 40, 4000
	text = strings.TrimSpace(text)
	all := strings.SplitAfterN(text, "\n", lines+1)
	cut := len(all) > lines
	text = strings.Join(all[:min(lines, len(all))], "")
	if len(text) > bytes {
		text, cut = strings.ToValidUTF8(text[:bytes], ""), true
	}
	if cut {
		text = strings.TrimRight(text, "\n") + "\n…"
	}
	return text
}

// help says what it is and what it can reach.
func (t *turn) help(first string) string {
	var names []string
	for _, d := range t.tools {
		names = append(names, strings.ReplaceAll(d.Name, "__", "."))
	}
	slices.Sort(names)
	const most = 30
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return Label + first + " I understand no language; I find the tool that your words are nearest to, fill in what is obvious, and call it. " +
		"Try: list the files here · read README.md · search for \"TODO\" in src. What I see: " + strings.Join(names, ", ") + "."
}
