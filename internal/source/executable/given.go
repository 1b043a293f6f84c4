package executable

import (
	"fmt"
	"strings"

	"callgate/tool"
)

// Given says, for a human who decides, what an executable tool is given of the
// user's: secrets and variables of the environment, and with them the network. The
// text names the program by its content, so that another program needs another yes.
// It is "" for a tool that is given nothing, and for one that is no executable.
func Given(t *tool.Tool) (string, error) {
	h, ok := t.Handler.(*handler)
	if !ok || len(h.manifest.Runtime.Secrets) == 0 && len(h.manifest.Env) == 0 {
		return "", nil
	}
	digest, err := digestFile(h.program.path)
	if err != nil {
		return "", tool.Errorf("executable.Given", tool.Unavailable, "the program of %s cannot be read: %w", h.name(), err)
	}
	var with []string
	if names := h.manifest.Runtime.Secrets; len(names) > 0 {
		with = append(with, "the secret "+strings.Join(names, ", "))
	}
	if names := h.manifest.Env; len(names) > 0 {
		with = append(with, "the variable "+strings.Join(names, ", "))
	}
	if h.manifest.Runtime.Network {
		with = append(with, "the network")
	}
	return fmt.Sprintf("run %s (sha256 %s) as the tool %s with %s",
		h.program.path, digest[:16], h.name(), strings.Join(with, " and ")), nil
}
