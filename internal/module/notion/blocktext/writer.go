package blocktext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Writer writes blocks as Markdown, up to a limit.
type Writer struct {
	Limit int // of bytes

	text strings.Builder
	full bool
}

// Full reports whether something did not fit.
func (w *Writer) Full() bool { return w.full }

// String is what was written.
func (w *Writer) String() string { return strings.TrimRight(w.text.String(), "\n") + "\n" }

// Blocks writes blocks that follow each other.
func (w *Writer) Blocks(blocks []Block) { w.blocks(blocks, "") }

func (w *Writer) blocks(blocks []Block, indent string) {
	number := 0
	for _, b := range blocks {
		if number++; b.Type != "numbered_list_item" {
			number = 0
		}
		w.block(b, indent, number)
	}
}

// block writes one block and what is inside.
func (w *Writer) block(b Block, indent string, number int) {
	switch b.Type {
	case "table":
		w.table(b.Children, indent)
	case "column_list", "column", "synced_block", "template":
		w.blocks(b.Children, indent)
	default:
		text, inner := b.line(number)
		if text != "" {
			w.lines(text, indent, strings.TrimPrefix(inner, "> "))
		}
		if strings.HasPrefix(b.Type, "heading_") || b.Type == "paragraph" && len(b.Children) == 0 {
			inner = ""
		}
		w.blocks(b.Children, indent+inner)
	}
	if b.Left {
		w.lines("(more inside "+b.ID+")", indent, "")
	}
	if !isItem(b.Type) {
		w.write("\n")
	}
}

func isItem(kind string) bool {
	return kind == "bulleted_list_item" || kind == "numbered_list_item" || kind == "to_do" || kind == "toggle"
}

// line is the text of a block, and the indent of what is inside.
func (b Block) line(number int) (text, inner string) {
	c := b.content
	said := markdown(c.RichText)
	switch b.Type {
	case "paragraph":
		return said, "  "
	case "heading_1", "heading_2", "heading_3", "heading_4":
		return strings.Repeat("#", int(b.Type[len(b.Type)-1]-'0')) + " " + said, ""
	case "bulleted_list_item", "toggle":
		return "- " + said, "  "
	case "numbered_list_item":
		return fmt.Sprintf("%d. %s", number, said), "   "
	case "to_do":
		if c.Checked {
			return "- [x] " + said, "  "
		}
		return "- [ ] " + said, "  "
	case "quote", "callout":
		return "> " + strings.ReplaceAll(said, "\n", "\n> "), "> "
	case "code":
		return fence(c.Language, Plain(c.RichText)), ""
	case "divider":
		return "---", ""
	case "equation":
		return "$$" + c.Expression + "$$", ""
	case "breadcrumb", "table_of_contents":
		return "", ""
	case "child_page", "child_database":
		return fmt.Sprintf("[%s: %s](%s)", strings.TrimPrefix(b.Type, "child_"), c.Title, b.ID), ""
	}
	return b.linked(), ""
}

// linked is a block that shows something elsewhere: an image, a file, a bookmark.
func (b Block) linked() string {
	c := b.content
	at := c.URL + c.External.URL + c.File.URL
	label := strings.ReplaceAll(b.Type, "_", " ")
	for _, text := range []string{Plain(c.Caption), c.Name} {
		if text != "" {
			label += ": " + text
			break
		}
	}
	if at == "" {
		return "(" + label + ")"
	}
	if b.Type == "image" {
		return fmt.Sprintf("![%s](%s)", label, at)
	}
	return fmt.Sprintf("[%s](%s)", label, at)
}

// fence writes code between marks that it cannot end.
func fence(language, code string) string {
	mark := "```"
	for strings.Contains(code, mark) {
		mark += "`"
	}
	if language == "plain text" {
		language = ""
	}
	return mark + language + "\n" + code + "\n" + mark
}

func (w *Writer) table(rows []Block, indent string) {
	for i, row := range rows {
		cells := make([]string, len(row.content.Cells))
		for j, cell := range row.content.Cells {
			cells[j] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(markdown(cell))
		}
		w.write(indent + "| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			w.write(indent + "|" + strings.Repeat(" --- |", len(cells)) + "\n")
		}
	}
}

// lines writes a text, whose second and further lines are indented by more.
func (w *Writer) lines(text, indent, more string) {
	w.write(indent + strings.ReplaceAll(text, "\n", "\n"+indent+more) + "\n")
}

// write adds a text, or as much of it as fits.
func (w *Writer) write(text string) {
	if w.full {
		return
	}
	if room := w.Limit - w.text.Len(); len(text) > room {
		w.full = true
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		text = text[:max(room, 0)]
	}
	w.text.WriteString(text)
}
