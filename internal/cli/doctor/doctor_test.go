package doctor_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/cli/doctor"
	"callgate/internal/statedir"
)

func find(t *testing.T, checks []doctor.Check, name string) doctor.Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %q in %v", name, checks)
	return doctor.Check{}
}

func TestDirectory(t *testing.T) {
	base := t.TempDir()
	header := make([]byte, 4096)
	copy(header, "SQLite format 3\x00")
	header[63] = 7
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(base, "good", "callgate.db"), header)
	write(filepath.Join(base, "junk", "callgate.db"), []byte("junk"))
	write(filepath.Join(base, "file"), nil)
	if err := os.Mkdir(filepath.Join(base, "open"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(base, "open"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, check string
		state      doctor.State
		found      string
	}{
		{"new/one", "directory", doctor.OK, "not created yet"},
		{"new/one", "free space", doctor.OK, ""},
		{"good", "database", doctor.OK, "schema version 7, 4.0 KiB"},
		{"junk", "database", doctor.Broken, "callgate.db"},
		{"file", "directory", doctor.Broken, "file"},
		{"open", "directory", doctor.Warning, "mode 0755"},
		{"open", "database", doctor.OK, "not created yet"},
	} {
		if c.dir == "open" && runtime.GOOS == "windows" {
			continue
		}
		dir, err := statedir.At(filepath.Join(base, c.dir))
		if err != nil {
			t.Fatal(err)
		}
		got := find(t, doctor.Directory(dir, ""), c.check)
		if got.State != c.state || !strings.Contains(got.Found, c.found) {
			t.Errorf("%s of %s is %s (%s), want %s (%s)", c.check, c.dir, got.State, got.Found, c.state, c.found)
		}
		if got.State == doctor.Broken && got.Fix == "" {
			t.Errorf("%s of %s is broken, and nothing says what to do", c.check, c.dir)
		}
	}
	if _, err := os.Stat(filepath.Join(base, "new")); err == nil {
		t.Error("looking has made a folder")
	}
}

func TestPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range doctor.Programs(t.Context()) {
		if c.State != doctor.Missing || c.Purpose == "" {
			t.Errorf("%s is %s, for %q: nothing is installed here, and all of it is optional", c.Name, c.State, c.Purpose)
		}
		if runtime.GOOS == "linux" && !strings.HasPrefix(c.Fix, "apt-get install ") {
			t.Errorf("%s: how to get it is %q", c.Name, c.Fix)
		}
	}
}

func TestProgramThatDoesNotStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for name, text := range map[string]string{"git": "#!/bin/sh\necho git version 9\n", "rg": "#!/bin/sh\nexit 3\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	checks := doctor.Programs(t.Context())
	if c := find(t, checks, "git"); !strings.HasSuffix(c.Found, "(git version 9)") {
		t.Errorf("git is %q", c.Found)
	}
	if c := find(t, checks, "rg"); !strings.Contains(c.Found, "does not start") {
		t.Errorf("rg is %q", c.Found)
	}
}

func TestSandboxIsHonest(t *testing.T) {
	checks := doctor.Sandbox(t.Context())
	if len(checks) == 0 {
		t.Fatal("nothing is said")
	}
	for _, c := range checks {
		if c.Group != doctor.GroupSandbox || c.State == doctor.Broken || c.Found == "" || c.Purpose == "" {
			t.Errorf("%+v says too little, or too much: a sandbox is optional", c)
		}
	}
}
