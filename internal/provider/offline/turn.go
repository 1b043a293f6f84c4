package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/fence"
	"callgate/internal/search/lexical"
	"callgate/llm"
)

// turn is the state of a conversation since the user's last message.
type turn struct {
	tools    []llm.ToolDef
	todo     []string   // the user's instructions
	attempts []*attempt // one for each instruction that was begun
	told     []string   // the kernel's notes since all of that was answered
}

// attempt is what was done about one instruction.
type attempt struct {
	matches []ToolMatch // of the search; nil before one
	done    bool
	tool    string
	text    string // of the result
	failed  bool
}

// notePrefix begins a message of the kernel, which has the user's role but is not the user's.
const notePrefix = "<note>"

// read finds the user's last message, and what was done about it.
func read(req llm.Request) *turn {
	t := &turn{tools: req.Tools}
	last := -1
	for i, m := range req.Messages {
		if m.Role == llm.User && !fence.IsNote(m.Text()) {
			last = i
		}
	}
	if last < 0 {
		return t
	}
	t.todo = instructions(withoutEvent(fence.AfterNote(req.Messages[last].Text())))
	calls := map[string]llm.ToolCall{}
	answered := false
	for _, m := range req.Messages[last+1:] {
		switch {
		case m.Role == llm.Assistant:
			answered, t.told = len(m.Calls()) == 0, nil
		case m.Role == llm.User && answered:
			t.told = append(t.told, note(m.Text()))
		}
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

// note is the text of a note.
func note(text string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, notePrefix), "</note>"))
}

// addResult adds a call and its result.
func (t *turn) addResult(c llm.ToolCall, r llm.ToolResult) {
	at := len(t.attempts) - 1
	if at < 0 || t.attempts[at].done {
		t.attempts = append(t.attempts, &attempt{})
		at++
	}
	a := t.attempts[at]
	if c.Name == "search_tools" {
		a.matches = searchMatches(r.Text())
		return
	}
	a.done, a.tool, a.text, a.failed = true, calledTool(c), r.Text(), r.IsError
}

// calledTool returns the name of the tool that a call runs.
func calledTool(c llm.ToolCall) string {
	var in struct{ Name string }
	if c.Name == "execute_tool" && json.Unmarshal(c.Args, &in) == nil && in.Name != "" {
		return in.Name
	}
	return c.Name
}

// searchMatches reads the result of search_tools.
func searchMatches(text string) []ToolMatch {
	var result struct {
		Tools []struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tools"`
	}
	matches := []ToolMatch{}
	start := strings.IndexByte(text, '{')
	if start < 0 || json.NewDecoder(strings.NewReader(text[start:])).Decode(&result) != nil {
		return matches
	}
	for _, t := range result.Tools {
		matches = append(matches, ToolMatch{Name: t.Name, Schema: t.Parameters})
	}
	return matches
}

var separators = regexp.MustCompile(
	`(?i)\s*(?:;|\n+|,?\s+(?:and then|then|et puis|puis|und dann|danach|y luego|luego)\s+)\s*`)

// event is what a trigger took in, with the words that introduce it, as the kernel writes them.
var event = regexp.MustCompile(`(?s:<event .*</event>)|(?m:^An event came in through the trigger .*$)`)

// withoutEvent is a message without the event in it: that is data, and never an instruction.
func withoutEvent(text string) string { return event.ReplaceAllString(text, "") }

// instructions splits the user's message into things to do one after another. Quoted text is not split.
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
	const maxInstructions = 8
	return out[:min(maxInstructions, len(out))]
}

var greeting = regexp.MustCompile(
	`(?i)^\W*(?:hi|hello|hey|help|what can you do|bonjour|salut|aide|hallo|hilfe|hola|ayuda)\b[^a-z]*$`)

func isGreeting(text string) bool { return greeting.MatchString(text) }

// offered returns an offered tool by its dotted or its wire name, or nil.
func (t *turn) offered(name string) *llm.ToolDef {
	wire := strings.ReplaceAll(name, ".", "__")
	for i := range t.tools {
		if t.tools[i].Name == name || t.tools[i].Name == wire {
			return &t.tools[i]
		}
	}
	return nil
}

// isOfOfferedModule reports whether a name is that of a tool of a module of which tools are offered.
func (t *turn) isOfOfferedModule(name string) bool {
	module, action, dotted := strings.Cut(name, ".")
	return dotted && action != "" && slices.ContainsFunc(t.tools, func(d llm.ToolDef) bool {
		return strings.HasPrefix(d.Name, module+"__")
	})
}

// rank returns the offered tools that share words with a text, the best first.
func (t *turn) rank(text string) []ToolMatch {
	docs := make([]lexical.Doc, len(t.tools))
	for i, d := range t.tools {
		docs[i] = lexical.Doc{Name: strings.ReplaceAll(d.Name, "__", "."), Description: d.Description}
	}
	scores := lexical.Build(lexical.Options{}, docs).Query(text).Scores(nil)
	order := make([]int, 0, len(docs))
	for i, score := range scores {
		if score > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	matches := []ToolMatch{}
	for _, i := range order[:min(5, len(order))] {
		matches = append(matches, ToolMatch{Name: t.tools[i].Name, Schema: t.tools[i].Schema})
	}
	return matches
}

// report lists the results of all calls.
func (t *turn) report() string {
	var b strings.Builder
	for _, a := range t.attempts {
		if !a.done {
			continue
		}
		outcome := ""
		if a.failed {
			outcome = " failed"
		}
		fmt.Fprintf(&b, "%s%s%s:\n%s\n\n", Label, strings.ReplaceAll(a.tool, "__", "."), outcome, shorten(a.text))
	}
	return b.String()
}

// shorten returns the beginning of a long text.
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

// news repeats what the kernel told since the last answer: the turn began by itself.
func (t *turn) news() string {
	var b strings.Builder
	for _, text := range t.told {
		fmt.Fprintf(&b, "%sI was told:\n%s\n\n", Label, shorten(text))
	}
	return b.String()
}

// help says what this is, and which tools it has.
func (t *turn) help(first string) string {
	var names []string
	for _, d := range t.tools {
		names = append(names, strings.ReplaceAll(d.Name, "__", "."))
	}
	slices.Sort(names)
	const maxNames = 30
	if len(names) > maxNames {
		names = append(names[:maxNames], "…")
	}
	return Label + first + " I understand no language; I find the tool that your words are nearest to, " +
		"fill in what is obvious, and call it. " +
		"Try: list the files here · read README.md · search for \"TODO\" in src. " +
		"What I see: " + strings.Join(names, ", ") + "."
}
