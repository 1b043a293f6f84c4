package cli_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callgate/internal/peer/terminaltest"
)

// TestGuideCommands runs every command block of README.md and docs/, each page in a folder and a
// state directory of its own with a kernel that runs, and each section so where the sections stand
// alone. A block of the language console has what its commands say, which is what they say now,
// but for IDs, numbers and times: -update writes it anew; "…" stands for any words, and alone on a
// line for any lines. The lines of a block of the language sh are commands that succeed. What a
// page needs besides is in testdata/guides. TestCommandsOfDocs looks at the blocks that are not run.
func TestGuideCommands(t *testing.T) {
	t.Parallel()
	ran := new(atomic.Int64)
	t.Cleanup(func() {
		if !t.Failed() && flag.Lookup("test.run").Value.String() == "" && ran.Load() < 250 {
			t.Errorf("only %d commands ran: the pattern is broken", ran.Load())
		}
	})
	for _, file := range docPages(t) {
		text := readFile(t, filepath.Dir(file), filepath.Base(file))
		if !slices.ContainsFunc(blocksOf(text), block.runs) {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			sections := []string{text}
			if standAlone[filepath.Base(file)] {
				sections = strings.SplitAfter(text, "\n## ")
			}
			t.Cleanup(func() {
				if updating() {
					write(t, file, strings.Join(sections, ""))
				}
			})
			for i := range sections {
				name, _, _ := strings.Cut(sections[i], "\n")
				t.Run(name, func(t *testing.T) {
					needs(t, sections[i])
					g := newGuide(t, file)
					sections[i] = g.section(sections[i])
					ran.Add(int64(g.ran))
				})
			}
		})
	}
}

// standAlone are the pages whose sections need nothing of each other, and no kernel that runs: a
// block of YAML is the app file of its section.
var standAlone = map[string]bool{"quickstart.md": true, "cookbook.md": true}

// needs skips a section whose programs are not here.
func needs(t *testing.T, section string) {
	t.Helper()
	for word, program := range map[string]string{
		"callgate build": "go", "/usr/bin/python3": "/usr/bin/python3", "git init": "git",
		"\njq ": "jq", "curl ": "curl", "openssl dgst": "openssl",
	} {
		if _, err := exec.LookPath(program); strings.Contains(section, word) && err != nil {
			t.Skip(err)
		}
	}
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// guide is one section that is run.
type guide struct {
	t                   *testing.T
	page                string
	home, folder, state string
	user, cache         string
	approval            string // the one that was said last
	setup               guideSetup
	words               map[string]string // of the page, with what they are here
	ran                 int
}

func newGuide(t *testing.T, file string) *guide {
	t.Helper()
	g := &guide{t: t, page: filepath.Base(file), home: shortFolder(t), words: map[string]string{}}
	g.folder, g.state = filepath.Join(g.home, "demo"), filepath.Join(g.home, ".local", "state", "callgate")
	for _, folder := range []string{g.folder, filepath.Join(g.home, "bin"), filepath.Dir(g.state)} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { down(t, g.state) })
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	g.user, g.cache = me.Username, filepath.Join(g.home, "go-build")
	if cache, err := os.UserCacheDir(); err == nil {
		g.cache = filepath.Join(cache, "go-build")
	}
	if !standAlone[g.page] {
		g.prepare(file)
	}
	return g
}

// shortFolder is a folder whose path leaves room for that of a socket.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// section runs a section, and returns it as it is now.
func (g *guide) section(text string) string {
	now := fenced.ReplaceAllStringFunc(text, func(all string) string {
		m := fenced.FindStringSubmatch(all)
		b := blockOf(m)
		switch {
		case b.mark == "file":
			g.put(b.words, b.text)
		case b.language == "yaml" && standAlone[g.page]:
			g.put("callgate.yaml", b.text)
			if p := g.person([]string{"callgate", "app", "trust", "--yes"}); p.Exit != 0 {
				g.t.Errorf("this app file is refused:\n%s%s%s", b.text, p.Out, p.Err)
			}
		case !b.runs():
		case b.language == "console":
			return m[3] + "```console\n" + strings.ReplaceAll(g.console(b.text), "\n", "\n"+m[3]) + "```"
		default:
			g.commands(b)
		}
		return all
	})
	g.finished()
	return now
}

// commands runs the commands of a block that has nothing of what they say.
func (g *guide) commands(b block) {
	for _, line := range b.lines() {
		line = g.beforeLine(line)
		g.ran++
		if said, code := g.run(line); code != 0 {
			g.t.Errorf("$ %s\nends with %d and says\n%s", line, code, said)
		}
	}
}

// console runs the commands of one block.
func (g *guide) console(text string) string {
	var now strings.Builder
	for step := range strings.SplitSeq("\n"+strings.TrimSuffix(text, "\n"), "\n$ ") {
		line, want := firstLine(step)
		if line == "" {
			continue
		}
		shown := answers.ReplaceAllString(line, "${1}"+g.approval)
		line = g.beforeLine(shown)
		got, _ := g.run(line)
		g.ran++
		if !updating() && !fits(want, got) {
			g.t.Errorf("$ %s\nsays\n%s\nand the page\n%s", line, got, want)
		}
		if strings.Contains(want, "…") && fits(want, got) {
			got = want
		}
		now.WriteString("$ " + shown + "\n" + got)
	}
	return now.String()
}

// The commands that a person types at a terminal, because they type a code, or an answer to what
// standard error says.
var (
	needsCode = regexp.MustCompile(`^callgate (approvals (approve|edit)|app trust|token create|` +
		`grants suggest --keep|mcp (add|trust|install)|run --mode|import --(apply|undo)|questions answer|` +
		`proposals accept|skills (accept|new)|keys|sign|log (resolve|accept-loss))`)
	needsAnswer = regexp.MustCompile(`^callgate (secrets set|undo|tools call (Write|Bash|mcp_files)|` +
		`questions answer \w+\s*(#|$))`)
)

// run runs one line in a shell, or has a person type it, and returns what was said, and its exit
// code. Variables that a line sets are there for the next one.
func (g *guide) run(line string) (said string, code int) {
	switch {
	case needsAnswer.MatchString(line) && !strings.Contains(line, "--yes") && !strings.Contains(line, "--no-wait"):
		p := g.person([]string{"bash", "-c", "exec 2>/dev/tty; " + line})
		said, code = p.Out+p.Screen, p.Exit
	case needsCode.MatchString(line):
		p := g.person([]string{"bash", "-c", line})
		said, code = p.Out+p.Err, p.Exit
	default:
		script := "set -a; . ~/.variables 2>/dev/null; (exit ${code:-0})\n" + line +
			"\ncode=$?; export -p > ~/.variables; exit $code"
		cmd, stop := g.shell("-c", script)
		defer stop()
		out, err := cmd.CombinedOutput()
		if err != nil && len(out) == 0 {
			g.t.Errorf("$ %s\n%v", line, err)
		}
		said, code = string(out), cmd.ProcessState.ExitCode()
	}
	if m := answers.FindStringSubmatch(said); m != nil {
		g.approval = m[2]
	}
	said = demoTool.ReplaceAllString(strings.ReplaceAll(said, g.home, "~"), "")
	said = regexp.MustCompile(`\b`+regexp.QuoteMeta(g.user)+`\b`).ReplaceAllString(said, "ada")
	if said != "" && !strings.HasSuffix(said, "\n") {
		said += "\n"
	}
	return said, code
}

// shell is a shell with its arguments, which has a minute.
func (g *guide) shell(args ...string) (*exec.Cmd, context.CancelFunc) {
	ctx, stop := context.WithTimeout(g.t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, "bash", args...)
	cmd.Dir, cmd.Env = g.folder, append(os.Environ(), g.env()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd, stop
}

func (g *guide) person(args []string) terminaltest.Ended {
	g.t.Helper()
	return terminaltest.Run(g.t, terminaltest.Program{Args: args, Dir: g.folder, Env: g.env(), Types: typing()})
}

func (g *guide) env() []string {
	return []string{
		"PATH=" + filepath.Join(g.home, "bin") + ":" + os.Getenv("PATH"), "GOCACHE=" + g.cache, "HOME=" + g.home,
		"EDITOR=sed -i s/4/5/", "CALLGATE_STATE=" + g.state, "CALLGATE_KEYRING=off", "CALLGATE_TOKEN=", "XDG_CONFIG_HOME=",
		"NO_COLOR=1", "TZ=UTC", "GORACE=" + quickRace,
	}
}

var (
	// On a page a command about an approval is about the last one.
	answers = regexp.MustCompile(`(approvals (?:show|approve|deny) )(a[0-9a-z]{9,})`)

	// demoTool is a line about a tool that only the tests have.
	demoTool = regexp.MustCompile(`(?m)^demo\..*\n`)

	idWord = regexp.MustCompile(`\b[acgst][0-9a-z]{9,13}\b`) // and some words, which are the same on both sides
	number = regexp.MustCompile(`[0-9]+([.,:/-][0-9]+)*`)
	ago    = regexp.MustCompile(`just now|N (s|min) ago`)
	blanks = regexp.MustCompile(`[ \t]+|─+`)
	hashes = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
)

// plain is a line without what differs from run to run.
func plain(line string) string {
	line = hashes.ReplaceAllString(line, "HASH")
	line = idWord.ReplaceAllString(line, "ID")
	line = ago.ReplaceAllString(number.ReplaceAllString(line, "N"), "lately")
	line = strings.NewReplacer("N µs", "a time", "N ms", "a time", "N s", "a time").Replace(line)
	return strings.TrimSpace(blanks.ReplaceAllString(line, " "))
}

// fits reports whether a command says what the page says.
func fits(want, got string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(want) {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(plain(line)), "…", ".*") + `\n`)
	}
	var lines strings.Builder
	for line := range strings.Lines(got) {
		lines.WriteString(plain(line) + "\n")
	}
	return regexp.MustCompile(`\A` + pattern.String() + `\z`).MatchString(lines.String())
}
