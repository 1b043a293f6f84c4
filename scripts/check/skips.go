package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// A cause explains why a test was skipped on this machine. A test whose reason
// names a cause that does not hold here counts as unexplained.
type cause struct {
	name   string
	reason *regexp.Regexp
	holds  func(r *run) bool
}

// causes are tried in order.
var causes = []cause{
	{"-short leaves them out; make race runs them", regexp.MustCompile(`-short`), func(r *run) bool { return r.config.short }},
	{"they need root", regexp.MustCompile(`only root|run as root`), func(*run) bool { return os.Geteuid() != 0 }},
	{"they need an ordinary user; scripts/users.sh runs them", regexp.MustCompile(`needs an ordinary user`),
		func(*run) bool { return os.Geteuid() == 0 }},
	{"this machine cannot isolate commands", regexp.MustCompile(`namespaces|cannot confine|no isolation|no sandbox`),
		func(*run) bool { return !isolates() }},
	{"../shared is not here", regexp.MustCompile(`\bshared/|shared is not`), func(*run) bool { return !isFolder("../shared") }},
	{"the test is the helper process of another", regexp.MustCompile(`^another test starts it$`), always},
}

func always(*run) bool { return true }

// ceiling is how many tests may be skipped without a cause. A new skip needs a
// cause above, or a reason to raise this number.
const ceiling = 5

// explain groups skips by their causes. Tests that name a package which could not
// be installed are grouped by that package.
func (r *run) explain(skips []skip) (explained map[string]int, unexplained []skip) {
	explained = map[string]int{}
	for _, s := range skips {
		if name := r.explainOne(s); name != "" {
			explained[name]++
		} else {
			unexplained = append(unexplained, s)
		}
	}
	return explained, unexplained
}

func (r *run) explainOne(s skip) string {
	for _, name := range r.missing {
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(s.reason) {
			return name + " is not installed"
		}
	}
	for _, c := range causes {
		if c.reason.MatchString(s.reason) && c.holds(r) {
			return c.name
		}
	}
	return ""
}

// reportSkips prints the skipped tests by cause, and returns an error if more are
// unexplained than the ceiling allows.
func (r *run) reportSkips(w io.Writer, skips []skip) error {
	explained, unexplained := r.explain(skips)
	if len(skips) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nskipped tests\n")
	for _, name := range slices.SortedFunc(maps.Keys(explained), func(a, b string) int {
		return cmp.Or(explained[b]-explained[a], cmp.Compare(a, b))
	}) {
		fmt.Fprintf(w, "%6d  %s\n", explained[name], name)
	}
	if len(unexplained) > 0 {
		fmt.Fprintf(w, "%6d  for other reasons (%d are allowed)\n", len(unexplained), ceiling)
		slices.SortFunc(unexplained, func(a, b skip) int { return cmp.Compare(a.pkg+a.test, b.pkg+b.test) })
		for _, s := range unexplained {
			fmt.Fprintf(w, "        %s %s: %s\n", s.pkg, s.test, cmp.Or(s.reason, "no reason given"))
		}
	}
	if len(unexplained) > ceiling {
		return fmt.Errorf("%d tests were skipped without a cause that scripts/check/skips.go knows, and %d are allowed",
			len(unexplained), ceiling)
	}
	return nil
}

// isolates reports whether this machine has user namespaces.
func isolates() bool {
	return exec.Command("unshare", "--user", "--map-root-user", "true").Run() == nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// missingPackages reads the variable in which scripts/deps.sh names what it could
// not install.
func missingPackages() []string { return strings.Fields(os.Getenv("CALLGATE_MISSING")) }
