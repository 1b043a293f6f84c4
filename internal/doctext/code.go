package doctext

import (
	"strings"

	"callgate/internal/lazyregexp"
)

// language finds the definitions of a programming language in its lines.
type language struct {
	definition interface{ MatchString(string) bool }
	comments   []string            // how a line of a comment begins
	named      func(string) string // what a line defines; nil: its signature
}

var (
	slashes = []string{"//", "/*", "*", "*/", "@", "#["}
	hashes  = []string{"#", "@", `"""`}

	golang = language{definition: lazyregexp.New(`^(func|type|var|const)\b`), comments: slashes}
	python = language{definition: lazyregexp.New(`^\s*(async\s+def|def|class)\s+\w`), comments: hashes}
	script = language{definition: lazyregexp.New(`^\s*(export\s+)?(default\s+)?(declare\s+)?(abstract\s+)?` +
		`(async\s+function|function|class|interface|enum|namespace|type\s+\w+\s*[=<]|` +
		`(const|let|var)\s+\w+\s*=\s*(async\s*)?(\(|function|\w+\s*=>))`), comments: slashes}
	braces = language{definition: lazyregexp.New(`^\s*((pub|public|private|protected|internal|static|final|abstract|` +
		`override|inline|extern|unsafe|async|virtual|sealed|open|data|export|const|constexpr)(\([^)]*\))?\s+)*` +
		`(class|interface|enum|struct|trait|impl|fn|fun|func|function|record|namespace|module|mod|object|protocol|extension|` +
		`union|typedef|type|macro_rules!|[A-Za-z_][\w<>,\[\]*&: ]*\s+[*&]?[\w:~]+\s*\([^;]*$)`), comments: slashes}
	ruby = language{definition: lazyregexp.New(`^\s*(def|class|module)\s+\w`), comments: hashes}
	sh   = language{definition: lazyregexp.New(`^(function\s+\w+|[\w-]+\s*\(\)\s*\{?)`), comments: hashes}
	lua  = language{definition: lazyregexp.New(`^\s*(local\s+)?function\b`), comments: []string{"--"}}
	elix = language{definition: lazyregexp.New(`^\s*(defmodule|defp?|defmacro)\s`), comments: hashes}
)

var languages = map[string]language{
	".go": golang, ".py": python, ".pyi": python,
	".js": script, ".jsx": script, ".mjs": script, ".cjs": script, ".ts": script, ".tsx": script, ".mts": script,
	".vue": script, ".svelte": script,
	".java": braces, ".kt": braces, ".kts": braces, ".scala": braces, ".c": braces, ".h": braces, ".cc": braces,
	".cpp": braces, ".cxx": braces, ".hpp": braces, ".cs": braces, ".rs": braces, ".swift": braces, ".php": braces,
	".dart": braces, ".m": braces, ".zig": braces,
	".rb": ruby, ".sh": sh, ".bash": sh, ".zsh": sh, ".lua": lua, ".ex": elix, ".exs": elix,
}

// code reads source code: a section for each definition, with the comment above it. Definitions
// inside of a definition have it among their headings, by how far they are indented.
func (r *reader) code(text string, l language) {
	var o outline
	r.begin(Section{Unit: Line})
	all := strings.Split(text, "\n")
	starts := r.definitions(all, l)
	for n := 0; n <= len(starts) && !r.full(); n++ {
		from, to := 0, len(all)
		if n > 0 {
			from = starts[n-1].from
			head := all[starts[n-1].line]
			r.begin(Section{Headings: o.enter(indent(head)+1, l.name(head)), Unit: Line})
		}
		if n < len(starts) {
			to = starts[n].from
		}
		p := paragraphs{r: r}
		for i := from; i < to && !r.full(); i++ {
			if strings.TrimSpace(all[i]) == "" {
				p.end()
				continue
			}
			p.add(strings.TrimRight(all[i], " \t"), i+1)
		}
		p.end()
	}
}

// name is what a line defines.
func (l language) name(line string) string {
	if l.named != nil {
		return l.named(line)
	}
	return signature(line)
}

// definition is where one begins, with its comment, and the line that names it.
type definition struct{ from, line int }

func (r *reader) definitions(all []string, l language) (found []definition) {
	const longest = 400 // bytes of a line that could define something
	free := 0           // the first line that belongs to no definition yet
	for i, line := range all {
		if r.full() {
			break
		}
		if len(line) > longest || !l.definition.MatchString(line) || l.named == nil && notDefinition(line) {
			continue
		}
		from := i
		for from > free && isComment(all[from-1], l.comments) {
			from--
		}
		found = append(found, definition{from, i})
		free = i + 1
	}
	return found
}

var statements = []string{
	"return", "else", "if", "for", "while", "switch", "throw", "new", "case", "await", "yield", "using",
}

// notDefinition is for calls and statements that look like definitions.
func notDefinition(line string) bool {
	line = strings.TrimSpace(line)
	for _, word := range statements {
		if rest, ok := strings.CutPrefix(line, word); ok && (rest == "" || strings.ContainsAny(rest[:1], " (\t")) {
			return true
		}
	}
	return false
}

func isComment(line string, marks []string) bool {
	line = strings.TrimSpace(line)
	for _, m := range marks {
		if strings.HasPrefix(line, m) {
			return true
		}
	}
	return false
}

// signature is a definition's line without what opens its body.
func signature(line string) string {
	return strings.TrimRight(strings.TrimSpace(line), " {:=(")
}
