package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const module = "callgate"

// raceList names the packages that run with the race detector in `make test`,
// because goroutines share memory in them. `...` includes the packages below. A
// person decides what belongs here: a package that starts no goroutine itself may
// be called by many. `make race` runs every package with the detector.
var raceList = []string{
	"internal/gate/...",
	"internal/journal/...",
	"internal/task",
	"internal/kernel/tasks",
	"internal/kernel/schedules",
	"internal/kernel/deferred",
	"internal/kernel/backgroundcalls",
	"internal/kernel/answeredcalls",
	"internal/kernel/watchers",
	"internal/kernel/session",
	"internal/kernel/questions",
	"internal/kernel/sharedlocks",
	"internal/conversation",
	"internal/source/mcp/...",
	"internal/client/relay",
	"internal/client/mcphttp",
	"internal/daemon/mcpserver/...",
	"internal/storage/...",
	"internal/search/learned",
	"internal/registry",
	"internal/feed",
	"internal/watch",
	"internal/quota",
	"internal/artifact",
	"internal/provider/queue",
	"internal/provider/budget",
	"internal/observe/...",
}

// longest names packages whose tests take longest. They start before the other large
// ones, so that both cores have work until the end.
var longest = []string{
	"internal/agent/bench",
	"internal/cli",
	"internal/conversation",
	"internal/daemon/console",
	"internal/daemon/mcpserver",
	"internal/kernel",
	"internal/kernel/schedules",
	"internal/module/browser",
	"internal/module/browser/page",
	"internal/source/mcp",
	"internal/storage/postgres",
	"internal/storage/sqlite",
	"internal/tui",
}

// large is how many dependencies a package has that is slow to link.
const large = 400

// uninstrumented are dependencies, and translated C, that share no memory between
// goroutines by themselves and take most of the time of a test under the detector.
var uninstrumented = []string{
	"modernc.org/sqlite/lib",
	"regexp/...",
	"github.com/goccy/go-yaml/...",
	"github.com/santhosh-tekuri/jsonschema/v6/...",
	"golang.org/x/text/...",
	"callgate/internal/search/embed",
}

// raceFlags turn the race detector on.
func raceFlags() []string {
	flags := []string{"-race"}
	for _, pattern := range uninstrumented {
		flags = append(flags, "-gcflags="+pattern+"=-race=false")
	}
	return flags
}

// withRace are the variables for a build with the race detector. The second one
// saves each program a second at its end.
var withRace = []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0"}

// packages are the packages of the module that have tests. Those with the fewest
// dependencies come first: they are quick to link and to run, so most faults show
// within the first minutes.
type packages struct{ race, plain []string }

func listPackages(ctx context.Context, dir string) (packages, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-test", "-json=ImportPath,ForTest,Deps", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return packages{}, fmt.Errorf("go list: %w", err)
	}
	type listed struct {
		ImportPath string
		Deps       []string
	}
	weight, decoder := map[string]int{}, json.NewDecoder(bytes.NewReader(out))
	for decoder.More() {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return packages{}, fmt.Errorf("go list: %w", err)
		}
		if name, ok := strings.CutSuffix(p.ImportPath, ".test"); ok && !strings.Contains(name, " ") {
			weight[name] = len(p.Deps)
			if inList(strings.TrimPrefix(name, module+"/"), longest) {
				weight[name] = large
			}
		}
	}
	var all packages
	for name := range weight {
		if folder := strings.TrimPrefix(name, module+"/"); inList(folder, raceList) {
			all.race = append(all.race, name)
		} else {
			all.plain = append(all.plain, name)
		}
	}
	for _, list := range [][]string{all.race, all.plain} {
		slices.SortFunc(list, func(a, b string) int { return cmp.Or(weight[a]-weight[b], cmp.Compare(a, b)) })
	}
	return all, nil
}

func inList(folder string, list []string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		base, below := strings.CutSuffix(pattern, "/...")
		return folder == base || below && strings.HasPrefix(folder, base+"/")
	})
}
