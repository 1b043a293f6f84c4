package launcher_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"callgate/internal/sandbox"
	"callgate/internal/sandbox/launcher"
	"callgate/internal/sandbox/prefork"
	"callgate/tool"
)

// This test program does not import selfstart, and is what an embedding program
// without it is: it has no sandbox, says so, and is never started a second time.
func TestAProgramWithoutSelfstart(t *testing.T) {
	if launcher.Declared() {
		t.Fatal("something imports selfstart here")
	}
	r := sandbox.Probe()
	if r.Level != sandbox.Process || !strings.Contains(strings.Join(r.Notes, "\n"), "callgate/internal/sandbox/selfstart") {
		t.Errorf("the report is %+v", r)
	}
	var out bytes.Buffer
	spec := sandbox.Spec{Argv: []string{"/bin/sh", "-c", "echo ran"}, Env: os.Environ(), Workspace: t.TempDir(), Stdout: &out}
	_, err := sandbox.Run(t.Context(), spec)
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "its own sandbox helper") || out.Len() > 0 {
		t.Errorf("a confined run: %v, and %q", err, &out)
	}
	spec.Relaxed = true
	exit, err := sandbox.Run(t.Context(), spec)
	if err != nil || exit.Level != sandbox.Process || len(exit.Missing) == 0 || out.String() != "ran\n" {
		t.Errorf("a relaxed run: %+v, %v, and %q", exit, err, &out)
	}
	job := prefork.Job{Program: func() ([]byte, error) { return new(launcher.Program).Encode(), nil }}
	if _, err := new(prefork.Pool).Run(t.Context(), job); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a helper: %v", err)
	}
}
