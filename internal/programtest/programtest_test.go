package programtest_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"callgate/internal/programtest"
)

func TestProgramsRunAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 25 {
				path := filepath.Join(dir, strconv.Itoa(worker)+"-"+strconv.Itoa(i))
				programtest.Write(t, path, "#!/bin/sh\nexit 0\n")
				if err := exec.Command(path).Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
