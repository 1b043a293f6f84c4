package composer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/mention"
	"callgate/internal/tui/termtext"
)

// suggestion is a command or a file that the text before the cursor may become.
type suggestion struct {
	name, about string
	command     bool
}

// maxFiles is how many files are suggested.
const maxFiles = 50

// isCommand reports whether a command is being written.
func (c *Composer) isCommand() bool {
	word, ok := strings.CutPrefix(c.field.Text(), "/")
	return ok && !strings.ContainsAny(word, " \n")
}

// suggestions are what the text may become, the best first.
func (c *Composer) suggestions() []suggestion {
	if c.search != nil {
		return nil
	}
	var fit []suggestion
	if c.isCommand() {
		word := strings.TrimPrefix(c.field.Text(), "/")
		for _, s := range c.commands {
			switch found := (suggestion{s.Name, s.About, true}); {
			case s.Name == word:
				fit = slices.Insert(fit, 0, found)
			case strings.HasPrefix(s.Name, word):
				fit = append(fit, found)
			}
		}
		return fit
	}
	before := c.field.Before()
	query, _, ok := mention.Query(before)
	if !ok || c.choice.dismissed(before) {
		return nil
	}
	for _, path := range mention.Rank(c.files.list, query, maxFiles) {
		fit = append(fit, suggestion{name: path})
	}
	return fit
}

// complete writes the chosen suggestion out.
func (c *Composer) complete() {
	list := c.suggestions()
	if len(list) == 0 {
		return
	}
	s := list[c.choice.at(len(list))]
	c.choice = choice{}
	if s.command {
		c.field.Set("/" + s.name + " ")
		return
	}
	_, n, _ := mention.Query(c.field.Before())
	text := mention.Write(s.name)
	if !strings.HasSuffix(s.name, "/") {
		text += " "
	} else if strings.HasSuffix(text, `"`) {
		text = strings.TrimSuffix(text, `"`)
	}
	c.field.Replace(n, text)
}

// choice is the suggestion that is chosen. The zero value is the first.
type choice struct {
	index  int
	hidden string // the text whose suggestions were dismissed
}

func (c *choice) at(n int) int { return max(0, min(c.index, n-1)) }

// move chooses another suggestion, and reports whether there are any.
func (c *choice) move(key string, n int) bool {
	if n == 0 {
		return false
	}
	at := c.at(n)
	if key == "up" {
		c.index = (at + n - 1) % n
	} else {
		c.index = (at + 1) % n
	}
	return true
}

func (c *choice) dismiss(before string) { c.hidden = before }

// dismissed reports whether the suggestions for a text were dismissed: a longer one
// is still the same word.
func (c *choice) dismissed(before string) bool {
	return c.hidden != "" && strings.HasPrefix(before, c.hidden)
}

// fileList is what can be mentioned.
type fileList struct {
	list    []string
	read    time.Time
	loading bool
}

// filesFor is how long a list of files counts.
const filesFor = 10 * time.Second

// filesMsg brings the files of the workspace.
type filesMsg struct {
	list []string
	at   time.Time
}

func (f *fileList) set(m filesMsg) { f.list, f.read, f.loading = m.list, m.at, false }

// load reads the files if one is being mentioned and they are not known, or no more.
func (c *Composer) load() tea.Cmd {
	if c.Files == nil || c.files.loading {
		return nil
	}
	if _, _, ok := mention.Query(c.field.Before()); !ok || time.Since(c.files.read) < filesFor {
		return nil
	}
	c.files.loading = true
	return func() tea.Msg { return filesMsg{c.Files(c.ctx), time.Now()} }
}

// Above is what stands above the field, in at most limit rows: what is searched, what
// went wrong, or what the text may become.
func (c *Composer) Above(width, limit int) []string {
	switch {
	case c.search != nil:
		return []string{termtext.Accent(termtext.Truncate(c.search.line(), width))}
	case c.wrong != "":
		return []string{termtext.Warn(termtext.Truncate(termtext.OneLine(c.wrong), width))}
	}
	list := c.suggestions()
	if len(list) == 0 {
		c.choice.index = 0
		return nil
	}
	at := c.choice.at(len(list))
	from := max(0, min(at-limit+1, len(list)-limit))
	var rows []string
	for i := from; i < len(list) && i < from+limit; i++ {
		line := termtext.OneLine(list[i].name)
		if list[i].command {
			line = fmt.Sprintf("/%-10s %s", line, termtext.OneLine(list[i].about))
		} else {
			line = "@" + line
		}
		if i == at {
			rows = append(rows, termtext.Accent(termtext.Truncate("▸ "+line, width)))
		} else {
			rows = append(rows, termtext.Faint(termtext.Truncate("  "+line, width)))
		}
	}
	return rows
}
