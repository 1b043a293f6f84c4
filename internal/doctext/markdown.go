package doctext

import "strings"

// markdown reads Markdown: a section for each heading, a block for each paragraph, list or fence.
func (r *reader) markdown(text string) {
	var o outline
	p := paragraphs{r: r}
	r.begin(Section{Unit: Line})
	all := strings.Split(text, "\n")
	start := skipFrontMatter(all, r)
	fence := ""
	for i := start; i < len(all) && !r.full(); i++ {
		line := strings.TrimRight(all[i], " \t")
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case fence != "":
			p.add(line, i+1)
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
				p.end()
			}
			continue
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
			p.add(line, i+1)
			continue
		case line == "":
			p.end()
			continue
		}
		if level, title, lines := headingAt(all, i); level > 0 {
			p.end()
			r.titled(title)
			r.begin(Section{Headings: o.enter(level, title), Unit: Line})
			// The heading is a text of its own, so that a section of a heading alone can be found.
			r.add(title, i+1, i+lines)
			i += lines - 1
			continue
		}
		p.add(line, i+1)
	}
	p.end()
}

// headingAt returns the level of a heading at a line, its text, and how many lines it takes.
func headingAt(all []string, i int) (level int, title string, lines int) {
	line := strings.TrimSpace(all[i])
	if n := len(line) - len(strings.TrimLeft(line, "#")); n > 0 && n <= 6 && indent(all[i]) < 4 {
		rest := line[n:]
		if rest == "" || rest[0] == ' ' || rest[0] == '\t' {
			return n, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest), "#")), 1
		}
	}
	if i+1 < len(all) && line != "" && indent(all[i]) < 4 && (i == 0 || strings.TrimSpace(all[i-1]) == "") {
		switch under := strings.TrimSpace(all[i+1]); {
		case len(under) >= 3 && strings.Trim(under, "=") == "":
			return 1, line, 2
		case len(under) >= 3 && strings.Trim(under, "-") == "" && !strings.HasPrefix(line, "|"):
			return 2, line, 2
		}
	}
	return 0, "", 0
}

// skipFrontMatter returns where the text begins behind the keys that some put at the head of a file.
func skipFrontMatter(all []string, r *reader) int {
	const most = 200
	if strings.TrimRight(all[0], " ") != "---" {
		return 0
	}
	for i := 1; i < min(len(all), most); i++ {
		if title, ok := strings.CutPrefix(all[i], "title:"); ok {
			r.titled(strings.Trim(strings.TrimSpace(title), `"'`))
		}
		if line := strings.TrimRight(all[i], " "); line == "---" || line == "..." {
			return i + 1
		}
	}
	return 0
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// paragraphs gathers lines into blocks.
type paragraphs struct {
	r     *reader
	lines []string
	first int
	size  int
}

func (p *paragraphs) add(line string, number int) {
	if len(p.lines) == 0 {
		p.first, p.size = number, 0
	}
	p.lines = append(p.lines, line)
	if p.size += len(line); p.size > maxBlock {
		p.end()
	}
}

func (p *paragraphs) end() {
	if len(p.lines) > 0 {
		p.r.add(strings.Join(p.lines, "\n"), p.first, p.first+len(p.lines)-1)
	}
	p.lines = p.lines[:0]
}

// maxBlock bounds a block in bytes; what is longer becomes several.
const maxBlock = 4 << 10
