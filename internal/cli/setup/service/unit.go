package service

import (
	"fmt"
	"strings"

	"callgate/tool"
)

// Unit is the unit that a user's systemd reads.
func Unit(s Spec) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	if strings.ContainsAny(s.Program, `"'\`) {
		return "", tool.Errorf("service.Unit", tool.Invalid, "systemd starts no program at %q", tool.Truncate(s.Program)).
			WithHint("its path has a quote or a backslash: put the program elsewhere")
	}
	header, err := s.header()
	if err != nil {
		return "", err
	}
	var env strings.Builder
	for _, v := range s.Env {
		fmt.Fprintf(&env, "Environment=%s\n", unitWord(v.Name+"="+v.Value))
	}
	return fmt.Sprintf(`# Written by callgate service install; callgate service remove removes it.
# %s

[Unit]
Description=Callgate, a gate between language models and their tools
Documentation=man:callgate(1)
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=%s --state %s up
%sRestart=on-failure
RestartSec=2
# The kernel ends after its running calls, and with it what it started.
KillMode=mixed
TimeoutStopSec=30

[Install]
WantedBy=default.target
`, header, unitProgram(s.Program), unitArgument(s.State), env.String()), nil
}

// unitWord is a word of a unit as systemd reads it back.
func unitWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(word) + `"`
}

// unitProgram is the program of a command line, in which no variable is expanded.
func unitProgram(path string) string { return unitWord(path) }

// unitArgument is an argument of a command line, in which variables are expanded.
func unitArgument(word string) string { return strings.ReplaceAll(unitWord(word), "$", "$$") }
