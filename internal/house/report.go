package house

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Report is what `make house` prints about a tree. It judges nothing.
type Report struct {
	sizes    sizes
	untested int // packages without a test file in their folder
	largest  largest
	warnings warnings
	sole     []soleImport
	outside  []outsideMethods
	shared   []sharedName
	exports  exports
	english  english

	release    release
	releaseErr error
}

// Measure measures a tree. The folder root is that of the tree; Measure looks for
// the last release in its git history.
func Measure(t *Tree, root string) *Report {
	index := packages(t)
	r := &Report{
		sizes: sizes{}, largest: measureLargest(t, index), warnings: measureWarnings(t),
		sole: soleImports(index), outside: functionsOnLargeTypes(index), shared: sharedNames(index),
		exports: measureExports(index), english: measureEnglish(t),
	}
	for _, f := range t.Files {
		r.sizes.add(f.Path, f.Text)
	}
	for _, of := range r.sizes {
		if of.tests == 0 {
			r.untested++
		}
	}
	r.release, r.releaseErr = lastRelease(root)
	return r
}

// Print writes the report with up to most entries in each list, or all of them if
// most is 0.
func (r *Report) Print(w io.Writer, most int) error {
	p := &printer{most: most}
	p.growth(r)
	p.rooms(r)
	p.largest(r.largest)
	p.warnings(r.warnings)
	p.sole(r.sole, r.sizes.total().packages)
	p.outside(r.outside)
	p.shared(r.shared)
	p.exports(r.exports)
	p.english(r)
	_, err := io.WriteString(w, p.String())
	return err
}

// printer writes the sections of a report, each with a title and a blank line
// before it.
type printer struct {
	strings.Builder
	most int
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// first returns up to most entries of a list, or all of them if most is 0.
func first[T any](most int, list []T) []T {
	if most <= 0 {
		return list
	}
	return list[:min(most, len(list))]
}

func (p *printer) growth(r *Report) {
	today := r.sizes.total()
	p.printf("Growth                              shipped      tests  packages\n")
	p.size("today", today)
	if r.releaseErr != nil {
		p.printf("  The size of the last release is unknown: %v.\n", r.releaseErr)
		return
	}
	last := r.release.size
	p.size("last release", last)
	p.printf("  %-32s%10s %10s %9s\n", "change", change(last.shipped, today.shipped),
		change(last.tests, today.tests), change(last.packages, today.packages))
	p.printf("  Last release: commit %s, %s.\n", r.release.commit, r.release.name)
}

func (p *printer) size(name string, s size) {
	p.printf("  %-32s%10s %10s %9s\n", name, thousands(s.shipped), thousands(s.tests), thousands(s.packages))
}

func change(before, now int) string {
	if before == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.0f%%", 100*float64(now-before)/float64(before))
}

func (p *printer) rooms(r *Report) {
	p.printf("\nSize by room                        shipped      tests  packages\n")
	list := r.sizes.rooms()
	shown := first(2*p.most, list)
	for _, room := range shown {
		p.size(room.room, room.size)
	}
	var others size
	for _, room := range list[len(shown):] {
		others.add(room.size)
	}
	if n := len(list) - len(shown); n > 0 {
		p.size(fmt.Sprintf("other rooms (%d)", n), others)
	}
	p.size("total", r.sizes.total())
	p.printf("  Packages without a test file in their folder: %d.\n", r.untested)
}

func (p *printer) largest(l largest) {
	for _, part := range []struct {
		title string
		list  []count
	}{
		{"Largest packages, by lines", l.packages}, {"Largest files, by lines", l.files},
		{"Longest functions, by lines", l.functions}, {"Types with the most methods", l.types},
		{"Structs with the most fields", l.structs}, {"Interfaces with the most methods", l.interfaces},
		{"Packages with the most exported names", l.exported},
	} {
		p.printf("\n%s\n", part.title)
		p.counts(part.list)
	}
}

func (p *printer) counts(list []count) {
	for _, c := range first(p.most, list) {
		p.printf("  %7s  %s\n", thousands(c.n), c.name)
	}
}

func (p *printer) warnings(w warnings) {
	p.printf("\nWarning: functions of more than %d lines: %s\n", longFunction, thousands(len(w.functions)))
	p.counts(w.functions)
	p.printf("\nWarning: lines of more than %d characters: %s\n", longLine, thousands(len(w.lines)))
	p.counts(w.lines)
}

func (p *printer) sole(list []soleImport, packages int) {
	children := 0
	for _, s := range list {
		if s.fromParent() {
			children++
		}
	}
	p.printf("\nPackages with exactly one importer: %s (%s of all); only by their parent folder: %s\n",
		thousands(len(list)), percent(len(list), packages), thousands(children))
	for _, s := range first(p.most, list) {
		p.printf("  %7s lines  %s, imported by %s\n", thousands(s.lines), s.folder, s.importer)
	}
}

func (p *printer) outside(list []outsideMethods) {
	sum := 0
	for _, o := range list {
		sum += o.functions
	}
	p.printf("\nFunctions whose first parameter is a type of their package with more than %d methods: %s\n",
		manyMethods, thousands(sum))
	for _, o := range first(p.most, list) {
		p.printf("  %7d  %s, beside %d methods\n", o.functions, o.name, o.methods)
	}
}

func (p *printer) shared(list []sharedName) {
	p.printf("\nPackage names used more than once: %s\n", thousands(len(list)))
	for _, s := range first(p.most, list) {
		p.printf("  %7d  %s: %s\n", len(s.folders), s.name, strings.Join(s.folders, ", "))
	}
}

func (p *printer) exports(e exports) {
	p.printf("\nExported names that exactly one other package uses: %s of %s (%s)\n",
		thousands(e.usedOnce), thousands(e.all), percent(e.usedOnce, e.all))
	for _, of := range first(p.most, e.packages) {
		p.printf("  %7d  of %d in %s\n", of.usedOnce, of.all, of.folder)
	}
}

func (p *printer) english(r *Report) {
	e, lines := r.english, r.sizes.total()
	p.printf("\nComments: %s lines, %s per 100 lines of shipped code\n",
		thousands(e.commentLines), ratio(100*e.commentLines, lines.shipped))
	p.printf("\n%-34s", "Vague words")
	for _, w := range words {
		p.printf("%10s", w)
	}
	p.printf("%10s%17s\n", "total", "per 1,000 lines")
	for _, row := range []struct {
		where string
		wordCount
		lines int
	}{
		{"comments of shipped code", e.comments, lines.shipped}, {"strings of shipped code", e.strings, lines.shipped},
		{"comments of tests", e.testComments, lines.tests}, {"strings of tests", e.testStrings, lines.tests},
	} {
		p.printf("  %-32s", row.where)
		for _, n := range row.wordCount {
			p.printf("%10s", thousands(n))
		}
		p.printf("%10s%17s\n", thousands(row.total()), ratio(1000*row.total(), row.lines))
	}
	p.printf("\nRooms with the most vague words in shipped code\n")
	rooms := map[string]size{}
	for _, room := range r.sizes.rooms() {
		rooms[room.room] = room.size
	}
	for _, c := range first(p.most, e.rooms) {
		p.printf("  %7s  %s, %s per 1,000 lines\n", thousands(c.n), c.name, ratio(1000*c.n, rooms[c.name].shipped))
	}
}

// thousands formats a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func percent(part, whole int) string {
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(max(1, whole)))
}

func ratio(n, of int) string { return fmt.Sprintf("%.1f", float64(n)/float64(max(1, of))) }
