//go:build unix

// Ragscale measures how the ranking of knowledge bases grows with their size: what a question takes,
// what memory, and how many of the ten best chunks of an exact comparison are found.
//
//	go run ./scripts/ragscale -questions FILE[,FILE] FOLDER...
//
// The chunks are those of the documents and the code under the folders, each text once.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"callgate/internal/doctext"
	"callgate/internal/module/rag/ranking"
	"callgate/internal/search/embed"
	"callgate/internal/search/embed/vector"
)

func main() {
	questions := flag.String("questions", "", "files whose lines begin with a question, with commas between")
	sizes := flag.String("sizes", "10000,50000,200000,500000,1000000", "how many chunks")
	bytes := flag.Int("chunk", 500, "about how long a chunk is")
	flag.Parse()
	if err := run(*questions, *sizes, *bytes, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ragscale:", err)
		os.Exit(1)
	}
}

func run(files, sizes string, bytes int, folders []string) error {
	var counts []int
	for text := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		counts = append(counts, n)
	}
	slices.Sort(counts)
	asked, err := readQuestions(files)
	if err != nil {
		return err
	}
	texts, err := readChunks(folders, bytes, counts[len(counts)-1])
	if err != nil {
		return err
	}
	model, err := embed.Builtin()
	if err != nil {
		return err
	}
	entries := embedAll(model, texts)
	fmt.Printf("%d chunks of %d bytes in the mean, %d questions, %d dimensions\n",
		len(entries), total(texts)/max(1, len(texts)), len(asked), model.Dim())
	for _, n := range counts {
		if n <= len(entries) {
			measure(model, entries[:n], asked)
		}
	}
	return nil
}

func readQuestions(files string) (all []string, err error) {
	for name := range strings.SplitSeq(files, ",") {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			question, _, _ := strings.Cut(s.Text(), "\t")
			if question = strings.TrimSpace(question); question != "" && !strings.HasPrefix(question, "#") {
				all = append(all, question)
			}
		}
	}
	return all, nil
}

// readChunks reads the documents of folders.
func readChunks(folders []string, bytes, most int) (all []string, err error) {
	seen := map[[12]byte]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !doctext.Supported(path) || filepath.Ext(path) == ".pdf" {
				return nil
			}
			if len(all) >= most {
				return fs.SkipAll
			}
			content, err := os.ReadFile(path)
			if err != nil || len(content) > 1<<20 {
				return nil
			}
			doc, err := doctext.Read(context.Background(), path, content, doctext.Limits{})
			if err != nil {
				return nil
			}
			for _, c := range doc.Chunks(bytes) {
				sum := sha256.Sum256([]byte(c.Text))
				if key := [12]byte(sum[:]); !seen[key] && len(all) < most {
					seen[key] = true
					all = append(all, c.Text)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func embedAll(model *embed.Static, texts []string) []ranking.Entry {
	all := make([]ranking.Entry, len(texts))
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			var v []float32
			for i := w; i < len(texts); i += workers {
				v = model.Embed(v, texts[i])
				values, scale := vector.Quantize(v)
				all[i] = ranking.Entry{ID: int64(i + 1), Text: texts[i], Vector: vector.Row{Values: values, Scale: scale}}
			}
		})
	}
	wg.Wait()
	return all
}

func total(texts []string) (n int) {
	for _, t := range texts {
		n += len(t)
	}
	return n
}

// everything is more chunks than there are: all of them are compared.
const everything = 1 << 40

// measure makes an index and asks it, with all chunks compared and as it is.
func measure(model *embed.Static, entries []ranking.Entry, asked []string) {
	before := heap()
	began, busy := time.Now(), processorTime()
	x := ranking.Index{Exact: 1} // it has what any way needs
	for some := range slices.Chunk(entries, 2000) {
		x.Add(some)
	}
	fmt.Printf("%d chunks: made in %.1f s (processor %.1f), %d MB\n", len(entries), time.Since(began).Seconds(),
		(processorTime() - busy).Seconds(), (heap()-before)>>20)
	for _, mode := range []ranking.Mode{ranking.Keywords, ranking.Meaning, ranking.Both} {
		x.Exact = everything
		want, exact := ask(model, &x, mode, asked)
		x.Exact = 1
		got, some := ask(model, &x, mode, asked)
		found, best := 0, 0
		for i := range want {
			best += len(want[i])
			for _, h := range want[i] {
				if slices.Contains(got[i], h) {
					found++
				}
			}
		}
		fmt.Printf("  %-8s all compared %s; some compared %s, %.4f of the ten best found\n",
			mode, exact, some, float64(found)/float64(max(1, best)))
	}
	runtime.KeepAlive(entries)
}

// ask asks every question, and returns the ten best of each, and how long one took.
func ask(model *embed.Static, x *ranking.Index, mode ranking.Mode, asked []string) (all [][]ranking.Hit, took string) {
	var times []time.Duration
	busy := processorTime()
	for _, q := range asked {
		v := model.Embed(nil, q)
		began := time.Now()
		hits := x.Rank(ranking.Query{Text: q, Vector: v, Mode: mode, Most: 20})
		times = append(times, time.Since(began))
		all = append(all, hits[:min(10, len(hits))])
	}
	slices.Sort(times)
	return all, fmt.Sprintf("%.2f ms (p95 %.2f, processor %.2f)", ms(times[len(times)/2]), ms(times[len(times)*95/100]),
		ms(processorTime()-busy)/float64(len(asked)))
}

// processorTime is what this process had of the processors, which others that work beside it change little.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
