package isolation_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/internal/sandbox/sandboxtest"
	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/process"
	"callgate/tool"
)

// The words of consent say what a machine does of an isolation, and what was accepted for
// more is other words than what is accepted for less.
func TestWordsAreTheMachines(t *testing.T) {
	t.Parallel()
	full := sandbox.Report{OS: "linux", Level: sandbox.Full, Namespaces: true, Proc: true, Landlock: 6, Seccomp: true}
	filtered := sandbox.Report{OS: "linux", Level: sandbox.Filtered, Landlock: 6, Seccomp: true}
	none, mac := sandbox.Report{OS: "linux", Level: sandbox.Process}, sandbox.Report{OS: "darwin", Level: sandbox.Process}
	windows := sandbox.Report{OS: "windows", Level: sandbox.Process}
	const everything, refused = "can reach everything that you can", "it is not started"
	for name, c := range map[string]struct {
		machine sandbox.Report
		mode    string
		relaxed bool
		says    string
		word    string // of the accepted line
	}{
		"contained, full":              {full, config.Contained, false, "it can read your home folder and the rest of the disk", ""},
		"contained, full, relaxed":     {full, config.Contained, true, "it can read your home folder and the rest of the disk", ""},
		"contained, filtered":          {filtered, config.Contained, false, refused, "walls=nothing"},
		"contained, filtered, relaxed": {filtered, config.Contained, true, everything, "walls=nothing"},
		"contained, none":              {none, config.Contained, false, refused, "walls=nothing"},
		"contained, none, relaxed":     {none, config.Contained, true, everything, "walls=nothing"},
		"contained, macOS":             {mac, config.Contained, false, "only be isolated on Linux): it is not started", "walls=nothing"},
		"contained, macOS, relaxed":    {mac, config.Contained, true, everything, "walls=nothing"},
		"contained, Windows":           {windows, config.Contained, false, refused, "walls=nothing"},
		"nothing said, filtered":       {filtered, "", false, refused, "walls=nothing"},
		"sandboxed, full":              {full, config.Sandboxed, false, "sandboxed: it sees its folder", ""},
		"sandboxed, filtered":          {filtered, config.Sandboxed, false, "it also sees the machine's other processes", "walls=landlock+seccomp"},
		"sandboxed, none":              {none, config.Sandboxed, false, refused, "walls=nothing"},
		"sandboxed, none, relaxed":     {none, config.Sandboxed, true, everything, "walls=nothing"},
		"sandboxed, macOS":             {mac, config.Sandboxed, false, refused, "walls=nothing"},
		"none, full":                   {full, config.None, false, everything, ""},
		"none, none":                   {none, config.None, false, everything, ""},
		"none, macOS":                  {mac, config.None, false, everything, ""},
	} {
		isolated := config.Isolation{Mode: c.mode, Relaxed: c.relaxed}
		text := isolation.Describe(isolated, c.machine)
		if !strings.Contains(text, c.says) || c.says != everything && strings.Contains(text, everything) {
			t.Errorf("%s: it says %q, want %q", name, text, c.says)
		}
		words := isolation.Words(isolated, c.machine)
		more := slices.Equal(words, isolation.Words(isolated, full))
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "walls=") }); i >= 0 != (c.word != "") ||
			i >= 0 && words[i] != c.word || more != (c.word == "") {
			t.Errorf("%s: accepted are %q", name, words)
		}
		if missing := isolation.Missing(isolated, c.machine); (missing != "") != (c.word == "walls=nothing") {
			t.Errorf("%s: it misses %q", name, missing)
		}
	}
}

// Where there are no user namespaces, a contained server is refused and reads nothing,
// unless the app accepts that; and the way out that the error names is not contained.
func TestContainedIsRefusedWithoutNamespaces(t *testing.T) {
	if !sandboxtest.Inside(t, sandboxtest.NoNamespaces) {
		return
	}
	h := newHouse(t)
	m := isolation.Machine{Hidden: []string{h.state}, Cache: h.cache}
	for _, mode := range []string{config.Contained, ""} {
		_, err := m.Walls(config.Isolation{Mode: mode}, "/bin/sh", isolation.Place{Dir: h.work})
		if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "user namespaces") ||
			strings.Contains(err.Error(), "isolation: contained") {
			t.Fatalf("%q: %v", mode, err)
		}
	}
	_, err := sandbox.Run(t.Context(), sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", "cat " + h.state + "/human.key"}, Mode: sandbox.Contained, Env: os.Environ(),
		Hidden: []string{h.state}, Dir: h.work,
	})
	if tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a contained run: %v", err)
	}
	walls, err := m.Walls(config.Isolation{Mode: config.Contained, Relaxed: true}, "/bin/sh", isolation.Place{Dir: h.work})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p, err := process.Start(process.Command{
		Path: "/bin/sh", Args: []string{"-c", "cat " + filepath.Join(h.state, "human.key") + " >&2"}, Dir: h.work, Log: &said,
		Spec: walls.Spec(), Env: launch.Server(map[string]string{"HOME": h.home}, nil, "", true), Grace: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(20 * time.Second)
	if p.Err() != nil || said.String() != "human" {
		t.Errorf("relaxed: %q, %v", said.String(), p.Err())
	}
	if text := isolation.Describe(config.Isolation{Relaxed: true}, sandbox.Probe()); !strings.Contains(text, "everything that you can") {
		t.Errorf("relaxed, it says %q", text)
	}
	sandboxed, err := m.Walls(config.Isolation{Mode: config.Sandboxed}, "/bin/sh", isolation.Place{Dir: h.work})
	if err != nil || sandboxed.Spec().Mode != sandbox.Confined {
		t.Errorf("sandboxed: %v", err) // Landlock and seccomp are left
	}
	wall, ok := walls.Explain("Bad system call", true, false)
	if ok {
		t.Errorf("a contained one was stopped by %+v", wall)
	}
	if wall, _ := sandboxed.Explain("oh no", true, false); wall.Open != "isolation: none" {
		t.Errorf("what opens more is %q", wall.Open)
	}
}

// Where there is no sandbox at all, a sandboxed server is refused, and its error does not
// say contained, which would be less.
func TestSandboxedIsRefusedWithoutASandbox(t *testing.T) {
	if !sandboxtest.Inside(t, sandboxtest.NoSandbox) {
		return
	}
	h := newHouse(t)
	for _, mode := range []string{config.Contained, config.Sandboxed} {
		_, err := isolation.Machine{Hidden: []string{h.state}}.Walls(config.Isolation{Mode: mode}, "/bin/sh", isolation.Place{Dir: h.work})
		if tool.KindOf(err) != tool.Unavailable || strings.Contains(err.Error(), "isolation: contained") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
