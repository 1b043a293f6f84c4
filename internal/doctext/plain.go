package doctext

import (
	"path"
	"strings"
)

// plain reads text without a structure of its own: a block for each paragraph. In formats that
// underline their headings, or mark them with = or *, these begin sections.
func (r *reader) plain(text string) {
	heading := headingsOf[strings.ToLower(path.Ext(r.name))]
	var o outline
	p := paragraphs{r: r}
	r.begin(Section{Unit: Line})
	all := strings.Split(text, "\n")
	for i := 0; i < len(all) && !r.full(); i++ {
		line := strings.TrimRight(all[i], " \t")
		if line == "" {
			p.end()
			continue
		}
		if heading != nil {
			if level, title, lines := heading(all, i); level > 0 {
				p.end()
				r.titled(title)
				r.begin(Section{Headings: o.enter(level, title), Unit: Line})
				r.add(title, i+1, i+lines)
				i += lines - 1
				continue
			}
		}
		p.add(line, i+1)
	}
	p.end()
}

var headingsOf = map[string]func(all []string, i int) (level int, title string, lines int){
	".rst": underlined, ".txt": underlined, ".text": underlined, "": underlined,
	".adoc": marked("="), ".asciidoc": marked("="), ".org": marked("*"),
}

// underlined finds a heading with a line of one sign under it, and perhaps one over it. Which sign
// means which level is for each document to say; the common order is taken here.
func underlined(all []string, i int) (level int, title string, lines int) {
	const order = "#*=-^~\"'`+.:_"
	if over := strings.TrimSpace(all[i]); rule(over, order) && i+2 < len(all) && strings.TrimSpace(all[i+2]) == over {
		if line := strings.TrimSpace(all[i+1]); line != "" {
			return strings.IndexByte(order, over[0]) + 1, line, 3
		}
	}
	line := strings.TrimSpace(all[i])
	if i+1 >= len(all) || line == "" || indent(all[i]) > 0 || i > 0 && strings.TrimSpace(all[i-1]) != "" {
		return 0, "", 0
	}
	under := strings.TrimRight(all[i+1], " ")
	if !rule(under, order) || len(under) < len([]rune(line)) || rule(line, order) {
		return 0, "", 0
	}
	return strings.IndexByte(order, under[0]) + 1, line, 2
}

// rule reports whether a line is one sign again and again.
func rule(line, signs string) bool {
	return len(line) >= 3 && strings.IndexByte(signs, line[0]) >= 0 && strings.Trim(line, line[:1]) == ""
}

// marked finds a heading that begins with a sign, once for each level.
func marked(sign string) func(all []string, i int) (level int, title string, lines int) {
	return func(all []string, i int) (int, string, int) {
		rest := strings.TrimLeft(all[i], sign)
		n := len(all[i]) - len(rest)
		title := strings.TrimSpace(rest)
		if n == 0 || n > 6 || title == "" || rest[0] != ' ' {
			return 0, "", 0
		}
		return n, title, 1
	}
}
