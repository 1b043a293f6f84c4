package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/daemon/console/widget"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// page is what every template is given.
type page struct {
	Title     string
	Nav       string // the entry of the navigation that it belongs to
	Person    Person
	Workspace string
	Waits     waits
	Live      string // what its live part is; "": it has none
	Data      any
}

// readPages parses each template with those that all share.
func readPages(f *files) map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(functions(f)).ParseFS(embedded, "templates/shared/*.html"))
	list, err := fs.Glob(embedded, "templates/*.html")
	if err != nil {
		panic(err)
	}
	pages := map[string]*template.Template{}
	for _, file := range list {
		one := template.Must(shared.Clone())
		pages[strings.TrimSuffix(path.Base(file), ".html")] = template.Must(one.ParseFS(embedded, file))
	}
	return pages
}

// functions are those through which templates show what they are given. A template shows
// nothing without one of them.
func functions(f *files) template.FuncMap {
	return template.FuncMap{
		"text":  func(s any) string { return visible.Text(fmt.Sprint(s)) },
		"lines": func(s any) string { return visible.Lines(fmt.Sprint(s)) },
		// tool is the dotted name of a tool, whichever form the model wrote.
		"tool":  func(name string) string { return visible.Text(strings.ReplaceAll(name, "__", ".")) },
		"clip":  func(n int, s any) string { return visible.Clip(fmt.Sprint(s), n) },
		"json":  func(raw json.RawMessage) string { return visible.JSON(indented(raw)) },
		"args":  func(raw json.RawMessage) string { return strings.Join(arguments.Lines(raw), "\n") },
		"brief": func(raw json.RawMessage) string { return arguments.OneLine(raw, 120) },
		"number": func(n any) string {
			return amount.Thousands(fmt.Sprint(n))
		},
		"of": func(n int, noun string) string {
			return amount.Thousands(strconv.Itoa(n)) + strings.TrimLeft(amount.Of(n, noun), "0123456789")
		},
		"ago":       func(t time.Time) string { return ago(time.Since(t)) },
		"left":      func(t time.Time) string { return left(time.Until(t)) },
		"stamp":     stamp,
		"iso":       func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"span":      span,
		"path":      url.PathEscape,
		"query":     url.QueryEscape,
		"file":      f.address,
		"plus":      func(n int) string { return strconv.Itoa(n + 1) },
		"class":     class,
		"last":      func(s string, n int) string { return tail(s, n) },
		"dollars":   dollars,
		"coord":     func(n int) string { return strconv.Itoa(n) },
		"add":       func(a, b int) int { return a + b },
		"firstline": firstLine,
		"widget":    widget.Of,
		"mode": func(m tool.Mode) string {
			if m.Writes() {
				return "writes"
			}
			return "reads"
		},
		"answers":  func(p Person, id, next string) answers { return answers{p, id, next} },
		"manual":   func(h template.HTML) template.HTML { return h }, // made by package manual, of docs/ alone
		"rows":     rows,
		"workname": func(dir string) string { return visible.Text(path.Base(dir)) },
	}
}

// answers is what the forms for yes and no of one approval are given.
type answers struct {
	Person Person
	ID     string
	Next   string // the page to go to after the answer
}

// class is a word of the kernel as a class of the style sheet.
func class(word any) string {
	s := strings.ToLower(fmt.Sprint(word))
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r
		}
		return '-'
	}, tool.TruncateTo(s, 20))
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func dollars(micros int64) string { return fmt.Sprintf("$%.4f", float64(micros)/1e6) }

func tail(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return "…" + string(r[len(r)-n:])
	}
	return s
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "—"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func ago(d time.Duration) string {
	switch {
	case d < 5*time.Second:
		return "just now"
	case d > 24*365*50*time.Hour:
		return "never"
	}
	return span(d) + " ago"
}

func left(d time.Duration) string {
	if d <= 0 {
		return "no time left"
	}
	return span(d) + " left"
}

// span writes a time in its largest unit that says enough.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// show writes a page, or its main part for the script.
func (c *Console) show(w http.ResponseWriter, r *http.Request, name string, p page) error {
	p.Person, p.Workspace = c.Person(r), cmp.Or(p.Workspace, c.workspace(r))
	part := "layout"
	if r.Header.Get("Callgate-Fragment") != "" {
		part = "main"
	} else {
		p.Waits = c.waits(r.Context(), c.Client(r))
	}
	return c.write(w, http.StatusOK, name, part, p)
}

func (c *Console) write(w http.ResponseWriter, status int, name, part string, p page) error {
	var b bytes.Buffer
	if err := c.pages[name].ExecuteTemplate(&b, part, p); err != nil {
		return &tool.Error{Op: "console." + name, Kind: tool.Internal, Message: "the page cannot be written", Err: err}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
	return nil
}

// fail shows an error in words.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	said := asError(err)
	p := page{Title: "That did not work", Person: c.Person(r), Workspace: c.workspace(r), Data: said}
	part := "layout"
	if r.Header.Get("Callgate-Fragment") != "" {
		part = "main"
	} else {
		p.Waits = c.waits(r.Context(), c.Client(r))
	}
	if c.write(w, protocol.HTTPStatus(said.Kind), "error", part, p) != nil {
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
	}
}

// asError is an error as a page shows it.
func asError(err error) *tool.Error {
	var large *http.MaxBytesError
	var said *tool.Error
	switch {
	case errors.As(err, &large):
		return tool.Errorf("console", tool.Invalid, "what was sent is larger than %s", amount.Bytes(large.Limit)).
			WithHint("send less, or make the call with the command line")
	case errors.As(err, &said):
		return said
	}
	return &tool.Error{Op: "console", Kind: tool.Internal, Message: "it failed", Err: err}
}

func splitLines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

// rows is how many lines a field for a text has.
func rows(text string) int { return min(strings.Count(text, "\n")+1, 24) }

// firstLine is the first line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return visible.Clip(line, 180)
}
