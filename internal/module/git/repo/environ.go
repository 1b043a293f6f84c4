package repo

import (
	"os"
	"path/filepath"
	"slices"

	"callgate/internal/launch"
)

// hardened are settings that override every file, also those of a submodule
// that Git might read.
var hardened = [][2]string{
	{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"core.pager", "cat"}, {"core.editor", "false"},
	{"core.askPass", ""}, {"core.sshCommand", "false"}, {"core.alternateRefsCommand", "false"},
	{"core.quotePath", "false"}, {"core.protectHFS", "true"}, {"core.protectNTFS", "true"},
	{"credential.helper", ""}, {"credential.interactive", "false"},
	{"diff.ignoreSubmodules", "dirty"}, {"submodule.recurse", "false"}, {"fetch.recurseSubmodules", "false"},
	{"push.recurseSubmodules", "no"}, {"status.submoduleSummary", "false"},
	{"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"log.showSignature", "false"}, {"gpg.program", "false"},
	{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"color.ui", "false"}, {"advice.detachedHead", "false"},
	{"safe.bareRepository", "explicit"}, {"rerere.enabled", "false"}, {"merge.verifySignatures", "false"},
}

// Environ is the environment of a command that has no repository yet.
func Environ(network *Network) []string { return environ(true, network) }

// environ is the whole environment of a command. Nothing of the kernel's own
// environment is passed on.
func environ(children bool, network *Network) []string {
	nowhere := filepath.Join(os.DevNull, "none")
	env := []string{
		"HOME=" + nowhere, "XDG_CONFIG_HOME=" + nowhere, "PATH=" + nowhere, "LC_ALL=C", "TERM=dumb",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "EDITOR=false", "VISUAL=false",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_SSH_COMMAND=false",
		"GIT_NO_LAZY_FETCH=1", "GIT_PROTOCOL_FROM_USER=0", "GIT_TEMPLATE_DIR=",
	}
	env = append(env, launch.Only("TZ", "SYSTEMROOT")...) // without the second nothing runs on Windows
	if !children && network == nil {
		env = append(env, "GIT_EXEC_PATH="+nowhere)
	}
	settings := slices.Clone(hardened)
	if network == nil {
		env = append(env, "GIT_ALLOW_PROTOCOL=")
		settings = append(settings, [2]string{"protocol.allow", "never"})
	} else {
		env = append(env, "GIT_ALLOW_PROTOCOL=https:http")
		settings = append(settings, network.Settings...)
	}
	return launch.GitSettings(env, settings)
}
