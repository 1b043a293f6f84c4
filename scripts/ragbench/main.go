// Ragbench measures the module rag on folders of documents: how long ingesting takes, how long a
// question, and how often the right document is among the first five passages and the answer
// stands in one of them, by words, by meaning and by both.
//
//	go run ./scripts/ragbench -docs FOLDER -questions FILE
//
// A line of the file is a question, the documents that answer it, and a text that stands in the
// answer, with tabs between. A question is answerable from a citation if one of the five passages
// is of such a document and has that text.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/rag/library"
	"callgate/internal/module/rag/ranking"
	"callgate/internal/search/embed"
	"callgate/tool"
)

func main() {
	docs := flag.String("docs", "", "the folder of documents")
	questions := flag.String("questions", "", "the file of questions")
	verbose := flag.Bool("v", false, "name the questions that are not answered by both")
	pattern := flag.String("pattern", "", "only these files")
	flag.Parse()
	if err := run(*docs, *questions, *pattern, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "ragbench:", err)
		os.Exit(1)
	}
}

// builtin is the embedding model of the kernel.
type builtin struct{ *embed.Static }

func (m builtin) Vectors(texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, t := range texts {
		all[i] = m.Embed(nil, t)
	}
	return all, nil
}

// bench is a library of one folder.
type bench struct {
	*library.Library
	bases []library.Base
}

func open(docs string) (b *bench, end func(), err error) {
	dir, err := filepath.Abs(docs)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	model, err := embed.Builtin()
	if err != nil {
		return nil, nil, err
	}
	settings := library.Defaults("rag")
	if err := settings.Check(); err != nil {
		return nil, nil, err
	}
	state, err := os.MkdirTemp("", "ragbench")
	if err != nil {
		return nil, nil, err
	}
	service := library.New(module.Host{State: state, Embedder: builtin{model}})
	grant := tool.Grant{Root: root, Workspace: dir}
	l, release, err := service.For(context.Background(), "rag.query", tool.Call{}, grant, settings, true)
	if err != nil {
		return nil, nil, err
	}
	return &bench{Library: l}, func() {
		release()
		_ = service.Close()
		_ = root.Close()
		_ = os.RemoveAll(state)
	}, nil
}

// question is a question, the documents that answer it, and what stands in the answer.
type question struct {
	text      string
	documents []string
	answer    string
}

func read(file string) (all []question, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "\t")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%s: %q has not three parts", file, lines.Text())
		}
		all = append(all, question{parts[0], strings.Split(parts[1], ","), plain(parts[2])})
	}
	return all, lines.Err()
}

func plain(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// of reports whether a passage is of a document that answers a question.
func of(p library.Passage, q question) bool {
	return slices.ContainsFunc(q.documents, func(d string) bool {
		return p.Document == d || strings.HasSuffix(p.Document, "/"+d)
	})
}

func answers(p library.Passage, q question) bool {
	return of(p, q) && strings.Contains(plain(strings.Join(p.Headings, " ")+" "+p.Text), q.answer)
}

func run(docs, file, pattern string, verbose bool) error {
	all, err := read(file)
	if err != nil {
		return err
	}
	b, end, err := open(docs)
	if err != nil {
		return err
	}
	defer end()
	ctx := context.Background()
	base, err := b.BaseOrNew(ctx, "main")
	if err != nil {
		return err
	}
	started := time.Now()
	report, err := b.IngestFolder(ctx, base, library.Folder{Path: ".", Pattern: pattern})
	if err != nil {
		return err
	}
	fmt.Printf("%s, in %.1f s\n", report.Summary(filepath.Base(docs)), time.Since(started).Seconds())
	if b.bases, err = b.Bases(ctx); err != nil {
		return err
	}
	_, took, err := b.ask("warm", ranking.Both)
	if err != nil {
		return err
	}
	fmt.Printf("the first question, which reads the base into memory: %d ms\n", took.Milliseconds())
	for _, mode := range []ranking.Mode{ranking.Keywords, ranking.Meaning, ranking.Both} {
		if err := b.measure(all, mode, verbose && mode == ranking.Both); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) ask(text string, mode ranking.Mode) ([]library.Passage, time.Duration, error) {
	started := time.Now()
	a, err := b.Ask(context.Background(), b.bases, library.Question{Text: text, Mode: mode, Most: 5})
	if err != nil {
		return nil, 0, err
	}
	return a.Passages, time.Since(started), nil
}

func (b *bench) measure(all []question, mode ranking.Mode, verbose bool) error {
	hits, answered := 0, 0
	var times []time.Duration
	for _, q := range all {
		passages, took, err := b.ask(q.text, mode)
		if err != nil {
			return err
		}
		times = append(times, took)
		hit := slices.ContainsFunc(passages, func(p library.Passage) bool { return of(p, q) })
		good := slices.ContainsFunc(passages, func(p library.Passage) bool { return answers(p, q) })
		if hit {
			hits++
		}
		if good {
			answered++
		}
		if verbose && !good {
			fmt.Printf("  not answered (document found: %v): %s\n", hit, q.text)
			for _, p := range passages {
				fmt.Printf("      %s\n", p.Citation)
			}
		}
	}
	slices.Sort(times)
	fmt.Printf("%-8s  %d questions: hit@5 %.2f, answerable from a citation %.2f, median %.1f ms, slowest %.1f ms\n",
		mode, len(all), float64(hits)/float64(len(all)), float64(answered)/float64(len(all)),
		float64(times[len(times)/2].Microseconds())/1000, float64(times[len(times)-1].Microseconds())/1000)
	return nil
}
