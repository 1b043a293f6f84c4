package durable_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"callgate/internal/durable"
)

const crashPath = "CALLGATE_DURABLE_CRASH"

// A process that is killed while it replaces a file leaves a whole one, and at
// least as new as the last that it reported.
func TestCrash(t *testing.T) {
	if path := os.Getenv(crashPath); path != "" {
		for n := 0; ; n++ {
			if err := durable.Write(path, content(n), 0o600); err != nil {
				t.Fatal(err)
			}
			fmt.Println(n)
		}
	}
	path := filepath.Join(t.TempDir(), "a")
	for round := range 5 {
		child := exec.Command(os.Args[0], "-test.run=^TestCrash$")
		child.Env = append(os.Environ(), crashPath+"="+path)
		out, err := child.StdoutPipe()
		ok(t, err)
		ok(t, child.Start())
		last, lines := -1, bufio.NewScanner(out)
		for lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
				t.Fatalf("the child says %q", lines.Text())
			}
			if last == 20+7*round {
				ok(t, child.Process.Kill())
			}
		}
		_ = child.Wait() // killed
		data, err := os.ReadFile(path)
		ok(t, err)
		if !bytes.Equal(data, content(last)) && !bytes.Equal(data, content(last+1)) {
			t.Errorf("after write %d: %d bytes that begin with %.20q", last, len(data), data)
		}
	}
}

func content(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d ", n), 10_000) }
