package service

import (
	"context"
	"strconv"
	"strings"
)

// systemd is the manager of most Linux systems.
func systemd() *kind {
	return &kind{
		program: "systemctl", suffix: ".service", write: Unit,
		reload: [][]string{{"--user", "daemon-reload"}},
		start:  [][]string{{"--user", "enable", "NAME.service"}, {"--user", "restart", "NAME.service"}},
		stop:   [][]string{{"--user", "disable", "--now", "NAME.service"}},
		ask: func(ctx context.Context, m *Manager, s *State) error {
			name := strings.TrimSuffix(s.File[len(m.Folder)+1:], ".service")
			out, err := m.run(ctx, "--user", "show", name+".service", "--property=UnitFileState,ActiveState,MainPID")
			if err != nil {
				s.Manager = "systemd does not know it: " + out
				return nil
			}
			readShow(out, s)
			return nil
		},
	}
}

// readShow reads what systemctl show wrote: a property a line.
func readShow(out string, s *State) {
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "UnitFileState":
			s.Enabled = value == "enabled"
		case "ActiveState":
			s.Running = value == "active" || value == "activating" || value == "reloading"
		case "MainPID":
			if pid, err := strconv.Atoi(value); err == nil && pid > 0 {
				s.PID = pid
			}
		}
	}
}

// launchd is the manager of macOS. It keeps what is in its folder; what is loaded runs.
func launchd() *kind {
	return &kind{
		program: "launchctl", suffix: ".plist", write: Plist, unload: true,
		start: [][]string{{"bootstrap", "gui/UID", "FILE"}},
		stop:  [][]string{{"bootout", "gui/UID/NAME"}},
		ask: func(ctx context.Context, m *Manager, s *State) error {
			name := strings.TrimSuffix(s.File[len(m.Folder)+1:], ".plist")
			out, err := m.run(ctx, "print", "gui/"+strconv.Itoa(m.uid)+"/"+name)
			if err == nil {
				readPrint(out, s)
			}
			return nil
		},
	}
}

// readPrint reads what launchctl print wrote of a service that is loaded.
func readPrint(out string, s *State) {
	s.Enabled = true
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		switch name {
		case "state":
			s.Running = value == "running"
		case "pid":
			if pid, err := strconv.Atoi(value); err == nil && pid > 0 {
				s.PID = pid
			}
		}
	}
}
