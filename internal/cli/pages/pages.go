// Package pages has the command help, which shows what a command does, and the pages of
// docs/ without a network.
package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"callgate/docs"
	"callgate/internal/cli/command"
	"callgate/internal/nearest"
	"callgate/internal/tui/markdown"
	"callgate/tool"
)

const (
	widest = 100 // columns: longer lines are hard to read
	usual  = 80  // where a terminal does not say how wide it is
)

// help is the command help.
type help struct {
	*command.Env
	root *cobra.Command
}

// Help returns the command help of a tree of commands.
func Help(e *command.Env, root *cobra.Command) *cobra.Command {
	h := &help{e, root}
	c := e.Leaf(&cobra.Command{
		Use: "help [COMMAND | TOPIC]", Short: "Show what a command does, or a page of the documentation",
		Long: `Show what a command does, or a page of the documentation; no network is needed.
Without an argument all commands and topics are listed; "topics" is the list by who
reads them. Where a command and a page have one name, the command is shown, and
the page by its file name: callgate help undo.md.

A terminal is shown the page laid out; a pipe or a file is given the Markdown.`,
		Example: "  callgate help quickstart\n  callgate help tools call\n  callgate help undo.md | less",
	}, h.run)
	c.ValidArgsFunction = h.complete
	return c
}

func (h *help) run(_ context.Context, args []string) error {
	if len(args) == 0 {
		return h.overview()
	}
	if found := h.command(args); found != nil {
		found.InitDefaultHelpFlag()
		if err := found.Help(); err != nil {
			return command.WriteError(err)
		}
		if page, ok := docs.Find(found.Name()); ok && len(args) == 1 {
			return h.Print(fmt.Sprintf("\nThe page about it, %q: callgate help %s.md\n", page.Title, page.Name))
		}
		return nil
	}
	name := strings.Join(args, "-")
	if name == "topics" {
		name = docs.Contents
	}
	page, ok := docs.Find(name)
	if !ok {
		return h.unknown(args)
	}
	return h.show(page)
}

// command is the command that all words name; nil if they name none.
func (h *help) command(args []string) *cobra.Command {
	found, rest, err := h.root.Find(args)
	if err != nil || len(rest) > 0 || found == h.root {
		return nil
	}
	return found
}

// overview lists commands and topics.
func (h *help) overview() error {
	if err := h.root.Help(); err != nil {
		return command.WriteError(err)
	}
	names := ansi.Wordwrap(strings.Join(pageNames(), ", "), min(h.width(), usual)-2, "")
	return h.Print("\nPages to read, by callgate help TOPIC (callgate help topics says what they are):\n  " +
		strings.ReplaceAll(names, "\n", "\n  ") + "\n")
}

func (h *help) unknown(args []string) error {
	word := strings.Join(args, " ")
	names := pageNames()
	for _, c := range h.root.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	e := tool.Errorf("cli.help", tool.NotFound, "there is no command and no page %q", tool.Truncate(word))
	e.Similar = nearest.Names(word, slices.Compact(names), 3)
	return e.WithHint("callgate help lists them")
}

// show writes a page.
func (h *help) show(page docs.Page) error {
	if _, screen := command.Terminal(h.Stdout); !screen {
		return h.Print(page.Text)
	}
	text := layOut(page.Text, h.width())
	if !h.Style(h.Stdout).Color {
		text = ansi.Strip(text)
	}
	_, err := fmt.Fprint(h.Stdout, text)
	return command.WriteError(err)
}

// layOut lays a page out for a terminal: section by section, because the layout is for texts
// of a bounded length.
func layOut(text string, width int) string {
	var b strings.Builder
	for _, section := range sections(text) {
		for _, line := range markdown.Lines(section, width) {
			b.WriteString(line + "\n")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (h *help) width() int {
	width := h.Style(h.Stdout).Width
	if width <= 0 {
		width = usual
	}
	return min(width, widest)
}

// sections cuts a page before each of its headings, and leaves out comments, which are for tests.
func sections(text string) []string {
	var all []string
	var now strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced && strings.HasPrefix(strings.TrimSpace(line), "<!--") {
			continue
		}
		if !fenced && strings.HasPrefix(line, "#") && now.Len() > 0 {
			all = append(all, now.String())
			now.Reset()
		}
		now.WriteString(line)
	}
	return append(all, now.String())
}

// pageNames are the names of all pages but the contents.
func pageNames() []string {
	var names []string
	for _, p := range docs.Pages() {
		if p.Name != docs.Contents {
			names = append(names, p.Name)
		}
	}
	return names
}

func (h *help) complete(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	at := h.root
	if len(args) > 0 {
		if at = h.command(args); at == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	var names []string
	for _, c := range at.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	if at == h.root {
		names = append(names, pageNames()...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, begun) }),
		cobra.ShellCompDirectiveNoFileComp
}
