package executable

import (
	"fmt"
	"path/filepath"
	"strings"

	"callgate/tool"
)

// Given says, for a human who decides, what an executable tool runs and what it is
// given: secrets, variables of the environment, the network. The text names the
// program and its manifest by their content, so that another program, or another
// word on its risk, needs another yes. It says that a script which the program reads
// is not part of that. A path below root is written from there. The
// text is "" for a tool that is no executable.
func Given(t *tool.Tool, root string) string {
	h, ok := t.Handler.(*handler)
	if !ok {
		return ""
	}
	path := h.program.path
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		path = "./" + filepath.ToSlash(rel)
	}
	var with []string
	if names := h.manifest.Runtime.Secrets; len(names) > 0 {
		with = append(with, "the secret "+strings.Join(names, ", "))
	}
	if names := h.manifest.Env; len(names) > 0 {
		with = append(with, "the variable "+strings.Join(names, ", "))
	}
	switch {
	case h.manifest.Direct:
		with = append(with, "the whole network, this machine's own services included")
	case h.manifest.Runtime.Network:
		with = append(with, "the network (public addresses)")
	}
	if h.inWorkspace() {
		with = append(with, "the workspace as its working directory, where any file may run as part of it")
	}
	if names := h.manifest.HostTools; len(names) > 0 {
		with = append(with, "calls of "+strings.Join(names, ", ")+" in the caller's name")
	}
	text := "run " + path
	if len(h.manifest.Args) > 0 {
		text += fmt.Sprintf(" %q", h.manifest.Args)
	}
	text += " as the tool " + h.name()
	if len(with) > 0 {
		text += " with " + strings.Join(with, " and ")
	}
	// Whoever writes both of two programs can make short digests of them alike.
	const digits = 40
	return text + fmt.Sprintf(" (sha256 %s, its manifest %s; other files that it reads or runs may change unseen)",
		h.program.digest[:digits], h.digest[:digits])
}
