// Package docs holds the pages of this folder, so that the program can show them
// where there is no network.
package docs

import (
	"cmp"
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed *.md guides/*.md reference/*.md pictures/*.svg
var files embed.FS

// Contents is the page that lists the others, by who reads them.
const Contents = "README"

// Page is one page, in Markdown.
type Page struct {
	Name  string // how it is asked for: its file without folder and ending
	Title string
	Text  string
}

// Pages returns all pages, by name.
func Pages() []Page { return slices.Clone(all()) }

// all are the pages, read once: a page that is shown asks for those that it links to.
var all = sync.OnceValue(func() []Page {
	var pages []Page
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		text, err := files.ReadFile(name)
		if err == nil {
			pages = append(pages, Page{Name: pageName(name), Title: title(string(text)), Text: string(text)})
		}
		return err
	})
	slices.SortFunc(pages, func(a, b Page) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return pages
})

// Find returns the page that a name, a path or a link means: in any case, unless two pages
// differ in nothing else, as MCP (clients) and mcp (servers).
func Find(name string) (Page, bool) {
	want, pages := pageName(name), all()
	at := slices.IndexFunc(pages, func(p Page) bool { return p.Name == want })
	if at < 0 {
		at = slices.IndexFunc(pages, func(p Page) bool { return strings.EqualFold(p.Name, want) })
	}
	if at < 0 {
		return Page{}, false
	}
	return pages[at], true
}

// Picture returns a drawing that pages show, by the name of its file.
func Picture(name string) ([]byte, bool) {
	data, err := files.ReadFile("pictures/" + name)
	return data, err == nil
}

// pageName takes folder, ending and the place within the page off a link.
func pageName(link string) string {
	file, _, _ := strings.Cut(strings.ReplaceAll(link, `\`, "/"), "#")
	return strings.TrimSuffix(path.Base(file), ".md")
}

// title is the first heading of a page.
func title(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimLeft(first, "#"))
}
