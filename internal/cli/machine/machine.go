// Package machine has the commands about this machine and the kernel that runs
// on it: up, ready, console, down, doctor, bench, build, api and version.
package machine

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/internal/version"
)

// Commands returns the commands up, ready, reload, console, down, nodes, drain, build, doctor, bench, api and version.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{
		newUp(e), newReady(e), newReload(e), newConsole(e), newDown(e), newNodes(e), newDrain(e), newBuild(e), newDoctor(e),
		newBench(e), newAPI(e), newVersion(e),
	}
}

// buildInfo is what this program knows of itself.
type buildInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Protocol int    `json:"protocol"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
}

func thisBuild() buildInfo {
	b := buildInfo{
		Version: version.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Protocol: protocol.Version,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

// String writes the build in one line.
func (b buildInfo) String() string {
	text := fmt.Sprintf("callgate %s, protocol %d, %s, %s/%s", b.Version, b.Protocol, b.Go, b.OS, b.Arch)
	if b.Revision != "" {
		text += ", revision " + b.Revision[:min(12, len(b.Revision))]
	}
	if b.Modified {
		text += " with changes"
	}
	return text
}

// showVersion is version.
type showVersion struct{ *command.Env }

func newVersion(e *command.Env) *cobra.Command {
	v := &showVersion{e}
	return e.Leaf(&cobra.Command{Use: "version", Short: "Show the version", Args: cobra.NoArgs}, v.run)
}

func (v *showVersion) run(context.Context, []string) error {
	if v.JSON {
		return v.WriteJSON(thisBuild())
	}
	_, err := fmt.Fprintln(v.Stdout, thisBuild())
	return command.WriteError(err)
}
