package library

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/rag/ranking"
	"callgate/internal/search/embed"
	"callgate/tool"
)

const ingestsIn = "CALLGATE_TEST_INGESTS_IN"

func TestMain(m *testing.M) {
	if state := os.Getenv(ingestsIn); state != "" {
		ingestForever(state)
	}
	os.Exit(m.Run())
}

// model is the embedding model of the kernel.
type model struct{ *embed.Static }

func (m model) Vectors(texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, t := range texts {
		all[i] = m.Embed(nil, t)
	}
	return all, nil
}

// large opens a library in which chunks are compared as in one of more than 200,000.
func large(ctx context.Context, state string) (*Service, *Library, func(), error) {
	static, err := embed.Builtin()
	if err != nil {
		return nil, nil, nil, err
	}
	s := New(module.Host{State: state, Embedder: model{static}})
	s.exact = 50
	settings := Defaults("rag")
	settings.ChunkBytes = 200
	l, release, err := s.For(ctx, "rag.test", tool.Call{}, tool.Grant{}, settings, true)
	return s, l, func() { release(); _ = s.Close() }, err
}

// textOf is what a document says in a round: three chunks that all name both.
func textOf(round, document int) string {
	section := fmt.Sprintf("# Part\n\nround%d of document%d: %s\n\n", round, document, strings.Repeat("the tide comes in. ", 8))
	return strings.Repeat(section, 3)
}

const documents = 60

func ingest(ctx context.Context, l *Library, base Base, round, first, last int) error {
	for i := first; i < last; i++ {
		if _, err := l.IngestText(ctx, base, fmt.Sprintf("document%d", i), textOf(round, i)); err != nil {
			return err
		}
	}
	return nil
}

// ingestForever ingests the same documents again and again, until it is killed.
func ingestForever(state string) {
	ctx := context.Background()
	_, l, _, err := large(ctx, state)
	if err == nil {
		var base Base
		for round := 1; err == nil; round++ {
			if base, err = l.BaseOrNew(ctx, "main"); err == nil {
				err = ingest(ctx, l, base, round, 0, documents)
			}
			fmt.Println(round)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// ask returns the documents that answer a question, as they are found now.
func ask(t *testing.T, l *Library, question string) (names []string) {
	t.Helper()
	base, err := l.Base(t.Context(), "main")
	check(t, err)
	for _, mode := range []ranking.Mode{ranking.Both, ranking.Keywords, ranking.Meaning} {
		a, err := l.Ask(t.Context(), []Base{base}, Question{Text: question, Mode: mode, Most: 10})
		check(t, err)
		for _, p := range a.Passages {
			names = append(names, fmt.Sprint(mode, p.Citation, p.Score))
		}
	}
	return names
}

// A large base answers as a new one does, while documents come, change and go.
func TestLargeBaseChanges(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	_, l, end, err := large(t.Context(), state)
	check(t, err)
	defer end()
	base, err := l.BaseOrNew(t.Context(), "main")
	check(t, err)
	steps := map[string]func() error{
		"they come":   func() error { return ingest(t.Context(), l, base, 1, 0, documents) },
		"some change": func() error { return ingest(t.Context(), l, base, 2, 10, 20) },
		"some go": func() error {
			_, err := l.Remove(t.Context(), base, []string{"document12", "document40", "document41"})
			return err
		},
		"more come": func() error { return ingest(t.Context(), l, base, 3, documents, documents+5) },
	}
	for _, name := range []string{"they come", "some change", "some go", "more come"} {
		check(t, steps[name]())
		got := ask(t, l, "round2 of document12 in document40")
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		l.Forget()
		if b, err := l.Base(t.Context(), "main"); err == nil {
			if _, err := l.Ask(cancelled, []Base{b}, Question{Text: "tide", Most: 5}); err == nil {
				t.Errorf("%s: a call that is cancelled has an answer", name)
			}
		}
		if diff := cmp.Diff(ask(t, l, "round2 of document12 in document40"), got); diff != "" || len(got) == 0 {
			t.Errorf("%s: a new index answers otherwise: %s", name, diff)
		}
	}
}

// A process that is killed in the middle of an ingestion leaves every document whole, as it was
// before or as it is after, and the next question is answered from what is there.
func TestKilledWhileIngesting(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), ingestsIn+"="+state)
	out, err := c.StdoutPipe()
	check(t, err)
	check(t, c.Start())
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "2"; {
	}
	check(t, c.Process.Kill()) // in the third round
	_ = c.Wait()

	_, l, end, err := large(t.Context(), state)
	check(t, err)
	defer end()
	rows, err := l.Select(t.Context(), "SELECT d.name, d.chunks, group_concat(c.text, '|') FROM documents d "+
		"JOIN chunks c ON c.document = d.id GROUP BY d.id ORDER BY d.name", rowset.Limits{Rows: 1000, Text: 1 << 20})
	check(t, err)
	if rows.Rows() != documents {
		t.Errorf("%d documents", rows.Rows())
	}
	check(t, rows.Scan(func(cells []any) error {
		text, _ := cells[2].(string)
		_, round, _ := strings.Cut(text, "round")
		round, _, _ = strings.Cut(round, " ")
		if n := strings.Count(text, "round"+round+" of "+cells[0].(string)+":"); n != 3 || cells[1] != json.Number("3") {
			t.Errorf("%v has %d parts of round %s", cells[0], n, round)
		}
		return nil
	}))
	if got := ask(t, l, "document17"); len(got) == 0 || !strings.Contains(got[0], "document17,") {
		t.Errorf("%q", got)
	}
}
