package transcript

import (
	"html"
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"

	"callgate/internal/tui/termtext"
)

// Markdown lays out markdown. It keeps renderers for the width that was asked
// for last. It is not safe for concurrent use.
type Markdown struct {
	width    int
	coloured *glamour.TermRenderer // code in colours
	quick    *glamour.TermRenderer // code as it is
}

// How many bytes a piece of markdown may have for its code to be coloured, and
// to be laid out at all. A growing piece is laid out for each frame, and
// colouring takes two milliseconds for a thousand bytes; a longer one is shown as
// it was written.
const (
	maxColoured = 4 << 10
	maxRendered = 8 << 10
)

// Lines lays text out in a width.
func (m *Markdown) Lines(text string, width int) []string {
	text = termtext.Safe(strings.Trim(text, "\n"))
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if len(text) <= maxRendered {
		if lines, ok := m.render(text, width); ok {
			return lines
		}
	}
	return termtext.Wrap(text, width)
}

func (m *Markdown) render(text string, width int) ([]string, bool) {
	if m.width != width {
		m.width, m.coloured, m.quick = width, nil, nil
	}
	r, style := &m.coloured, looks()
	if len(text) > maxColoured {
		r, style.CodeBlock.Chroma = &m.quick, nil
	}
	if *r == nil {
		made, err := glamour.NewTermRenderer(glamour.WithStyles(style), glamour.WithWordWrap(width), glamour.WithPreservedNewLines())
		if err != nil {
			return nil, false
		}
		*r = made
	}
	out, err := (*r).Render(neutralize(text))
	if err != nil {
		return nil, false
	}
	var lines []string
	for line := range strings.SplitSeq(termtext.StripCommands(out), "\n") {
		lines = append(lines, termtext.Wrap(trimRight(line), width)...)
	}
	for len(lines) > 0 && termtext.Width(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for len(lines) > 0 && termtext.Width(lines[0]) == 0 {
		lines = lines[1:]
	}
	return lines, len(lines) > 0
}

var (
	entity = regexp.MustCompile(`&(?:amp;|#38;|#[xX]0*26;)*#?[0-9A-Za-z]+;`)
	markup = regexp.MustCompile(`<[A-Za-z/!?]`)
)

// neutralize takes from markdown what would show something else than it holds:
// entities that stand for characters which Safe would have escaped, and tags,
// which are left out with what is in them.
func neutralize(text string) string {
	text = entity.ReplaceAllStringFunc(text, func(e string) string {
		bare := e
		for range 4 { // one inside another
			bare = html.UnescapeString(bare)
		}
		if safe := termtext.Safe(bare); safe != bare {
			return safe
		}
		return e
	})
	var b strings.Builder
	fenced := false
	for line := range strings.SplitAfterSeq(text, "\n") {
		if isFence(line) {
			fenced = !fenced
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			line = markup.ReplaceAllString(line, `\$0`)
		}
		b.WriteString(line)
	}
	return b.String()
}

// trimRight takes spaces from the end of a line, also from before a colour ends.
func trimRight(line string) string {
	const reset = "\x1b[m"
	bare := strings.TrimRight(line, " ")
	if inner, ok := strings.CutSuffix(bare, reset); ok {
		return strings.TrimRight(inner, " ") + reset
	}
	return bare
}

func isFence(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

func of[T any](v T) *T { return &v }

// looks are the styles: the terminal's own colours, and few of them.
func looks() ansi.StyleConfig {
	accent, quiet := of("6"), of("8")
	head := func(mark string) ansi.StyleBlock {
		return ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: mark}}
	}
	return ansi.StyleConfig{
		Heading:               ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: of(true), Color: accent, BlockSuffix: "\n"}},
		H1:                    head("# "),
		H2:                    head("## "),
		H3:                    head("### "),
		H4:                    head("#### "),
		H5:                    head("##### "),
		H6:                    head("###### "),
		BlockQuote:            ansi.StyleBlock{Indent: of(uint(1)), IndentToken: of("│ ")},
		List:                  ansi.StyleList{LevelIndent: 2},
		Item:                  ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:           ansi.StylePrimitive{BlockPrefix: ". "},
		Task:                  ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "},
		Strong:                ansi.StylePrimitive{Bold: of(true)},
		Emph:                  ansi.StylePrimitive{Italic: of(true)},
		Strikethrough:         ansi.StylePrimitive{CrossedOut: of(true)},
		HorizontalRule:        ansi.StylePrimitive{Color: quiet, Format: "\n────────\n"},
		Link:                  ansi.StylePrimitive{Underline: of(true)},
		LinkText:              ansi.StylePrimitive{Bold: of(true)},
		ImageText:             ansi.StylePrimitive{Format: "image: {{.text}}"},
		Code:                  ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: accent, Prefix: "`", Suffix: "`"}},
		CodeBlock:             codeLooks(),
		Table:                 ansi.StyleTable{},
		DefinitionDescription: ansi.StylePrimitive{BlockPrefix: "\n• "},
	}
}

func codeLooks() ansi.StyleCodeBlock {
	color := func(c string) ansi.StylePrimitive { return ansi.StylePrimitive{Color: of(c)} }
	return ansi.StyleCodeBlock{
		StyleBlock: ansi.StyleBlock{Margin: of(uint(2))},
		Chroma: &ansi.Chroma{
			Comment: color("#808080"), CommentPreproc: color("#808000"),
			Keyword: color("#008080"), KeywordReserved: color("#008080"), KeywordNamespace: color("#008080"), KeywordType: color("#008080"),
			NameFunction: color("#5f87d7"), NameTag: color("#5f87d7"), NameBuiltin: color("#5f87d7"),
			LiteralString: color("#6a9955"), LiteralNumber: color("#b08000"),
			GenericDeleted: color("#c04040"), GenericInserted: color("#40a040"),
		},
	}
}
