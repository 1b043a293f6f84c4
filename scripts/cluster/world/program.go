//go:build linux

package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// SkewVariable has a program of [BuildSkewed] be wrong about the time, by so many nanoseconds.
const SkewVariable = "CALLGATE_SKEW"

// BuildSkewed builds a program of this module whose clock can be set wrong: the one line of the standard library that
// reads the wall clock adds what the environment says. What measures durations stays as it is.
func BuildSkewed(folder, source string) (program string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	file := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	const reads = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), reads) != 1 {
		return "", errors.New("the standard library reads the clock in another way: BuildSkewed is to be changed")
	}
	changed := strings.Replace(string(text), reads, reads+"\tsec += wrongBy()\n", 1) + fmt.Sprintf(`
func wrongBy() int64 {
	text, _ := syscall.Getenv(%q)
	d, _ := ParseDuration(text + "ns")
	return int64(d / Second)
}
`, SkewVariable)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"syscall\"\n", 1)
	patched, overlay := filepath.Join(folder, "time.go"), filepath.Join(folder, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: patched}})
	if err != nil {
		return "", err
	}
	program = filepath.Join(folder, "node-skewed")
	return program, errors.Join(os.WriteFile(patched, []byte(changed), 0o600), os.WriteFile(overlay, list, 0o600),
		run("go", "build", "-overlay", overlay, "-o", program, source))
}
