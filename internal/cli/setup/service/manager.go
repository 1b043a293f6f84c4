package service

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/durable"
	"callgate/internal/launch"
	"callgate/tool"
)

// State is what is known of a service.
type State struct {
	File    string `json:"file"`              // where its file is, or would be
	Exists  bool   `json:"exists"`            // the file is there
	Spec    Spec   `json:"spec,omitzero"`     // what the file was made from
	Changed bool   `json:"changed,omitempty"` // the file is not as it was made
	Foreign bool   `json:"foreign,omitempty"` // Callgate did not make the file
	// Manager is why nothing is known of the rest: the manager does not run, or is not
	// here; "": it answered.
	Manager string `json:"manager,omitempty"`
	Enabled bool   `json:"enabled"` // it is started when its user logs in
	Running bool   `json:"running"`
	PID     int    `json:"pid,omitempty"`
}

// Manager keeps the services of a user.
type Manager struct {
	Folder  string // where their files are
	kind    *kind
	program string // of the manager; "": it is not here
	uid     int
}

// kind is what one kind of manager does differently.
type kind struct {
	program string // its command
	suffix  string // of a service file
	write   func(Spec) (string, error)
	reload  [][]string // each a command line; UID, NAME and FILE stand for the service's
	start   [][]string
	stop    [][]string
	unload  bool // a service that is loaded must be stopped before it is started anew
	ask     func(ctx context.Context, m *Manager, s *State) error
}

// commandTimeout bounds one command of a manager.
const commandTimeout = 30 * time.Second

// Find returns the manager of a system (runtime.GOOS), and an error where Callgate knows
// none.
func Find(system string, getenv func(string) string) (*Manager, error) {
	const op = "service.Find"
	home := getenv("HOME")
	if home == "" {
		return nil, tool.Errorf(op, tool.Unavailable, "there is no home folder for a service").WithHint("set HOME")
	}
	m := &Manager{uid: os.Getuid()}
	switch system {
	case "linux":
		config := getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(config) {
			config = filepath.Join(home, ".config")
		}
		m.kind, m.Folder = systemd(), filepath.Join(config, "systemd", "user")
	case "darwin":
		m.kind, m.Folder = launchd(), filepath.Join(home, "Library", "LaunchAgents")
	default:
		return nil, tool.Errorf(op, tool.Unavailable, "there is no service for %s", system).
			WithHint("have the system run callgate up when you log in")
	}
	m.program = look(m.kind.program, getenv("PATH"))
	return m, nil
}

// look finds a program in a search path.
func look(name, path string) string {
	for _, folder := range filepath.SplitList(path) {
		if found := filepath.Join(folder, name); filepath.IsAbs(found) {
			if info, err := os.Stat(found); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return found
			}
		}
	}
	return ""
}

// File is where the file of a service is.
func (m *Manager) File(name string) string { return filepath.Join(m.Folder, name+m.kind.suffix) }

// Text is the file that Install writes.
func (m *Manager) Text(s Spec) (string, error) { return m.kind.write(s) }

// All finds the services of Callgate, of whatever state directory.
func (m *Manager) All() (found []Spec) {
	files, _ := filepath.Glob(filepath.Join(escapeGlob(m.Folder), BaseName+"*"+m.kind.suffix))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if s, ok := Read(data); ok && m.File(s.Name) == file {
			found = append(found, s)
		}
	}
	return found
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Install writes the file of a service, has it started now and when its user logs in. If
// the file is written and nobody can be told, why says so, and there is no error.
func (m *Manager) Install(ctx context.Context, s Spec) (why string, err error) {
	const op = "service.Install"
	text, err := m.kind.write(s)
	if err != nil {
		return "", err
	}
	file := m.File(s.Name)
	if old, err := os.ReadFile(file); err == nil {
		if _, ours := Read(old); !ours {
			return "", tool.Errorf(op, tool.Conflict, "%s is there already, and not of Callgate's making", file).
				WithHint("move it away, and try again")
		}
	}
	if err = os.MkdirAll(m.Folder, 0o755); err == nil {
		err = durable.Write(file, []byte(text), 0o644)
	}
	if err != nil {
		return "", &tool.Error{Op: op, Kind: tool.Failed, Message: file + " cannot be written", Err: err}
	}
	if why := m.Reachable(ctx); why != "" {
		return why, nil
	}
	if m.kind.unload { // it takes no service twice; one that it has not is no error here
		_ = m.each(ctx, s.Name, m.kind.stop)
	}
	return "", m.each(ctx, s.Name, slices.Concat(m.kind.reload, m.kind.start))
}

// Remove stops a service and removes its file.
func (m *Manager) Remove(ctx context.Context, name string) error {
	const op = "service.Remove"
	file := m.File(name)
	switch data, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(op, tool.NotFound, "there is no service %s: %s does not exist", name, file)
	case err != nil:
		return &tool.Error{Op: op, Kind: tool.Failed, Message: file + " cannot be read", Err: err}
	default:
		if _, ours := Read(data); !ours {
			return tool.Errorf(op, tool.Conflict, "%s is not of Callgate's making", file).WithHint("remove it yourself")
		}
	}
	running := m.Reachable(ctx) == ""
	var stopped error
	if running {
		stopped = m.each(ctx, name, m.kind.stop)
	}
	if err := os.Remove(file); err != nil {
		return &tool.Error{Op: op, Kind: tool.Failed, Message: file + " cannot be removed", Err: err}
	}
	if running {
		_ = m.each(ctx, name, m.kind.reload) // it forgets the file; without that, the next login does
	}
	return stopped
}

// Status looks at a service. It changes nothing.
func (m *Manager) Status(ctx context.Context, name string) (State, error) {
	s := State{File: m.File(name)}
	data, err := os.ReadFile(s.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, &tool.Error{Op: "service.Status", Kind: tool.Failed, Message: s.File + " cannot be read", Err: err}
	}
	s.Exists = true
	spec, ours := Read(data)
	if !ours {
		s.Foreign = true
	} else {
		s.Spec = spec
		made, err := m.kind.write(spec)
		s.Changed = err != nil || !bytes.Equal([]byte(made), data)
	}
	if s.Manager = m.Reachable(ctx); s.Manager != "" {
		return s, nil
	}
	return s, m.kind.ask(ctx, m, &s)
}

// StartCommands are what a person types where Install could tell nobody.
func (m *Manager) StartCommands(name string) []string {
	var lines []string
	for _, args := range slices.Concat(m.kind.reload, m.kind.start) {
		words := m.fill(args, name)
		for i, word := range words {
			if strings.ContainsAny(word, " '\"$\\`") {
				words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
			}
		}
		lines = append(lines, m.kind.program+" "+strings.Join(words, " "))
	}
	return lines
}

// fill puts the service into a command line.
func (m *Manager) fill(args []string, name string) []string {
	fill := strings.NewReplacer("UID", strconv.Itoa(m.uid), "NAME", name, "FILE", m.File(name))
	words := make([]string, len(args))
	for i, word := range args {
		words[i] = fill.Replace(word)
	}
	return words
}

func (m *Manager) each(ctx context.Context, name string, lines [][]string) error {
	for _, args := range lines {
		if out, err := m.run(ctx, m.fill(args, name)...); err != nil {
			return &tool.Error{Op: "service", Kind: tool.Failed, Err: err,
				Message: m.kind.program + " " + strings.Join(m.fill(args, name), " ") + " failed: " + out}
		}
	}
	return nil
}

// run runs the manager's command, and returns what it wrote.
func (m *Manager) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	out, err := launch.Foreground(ctx, m.program, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Reachable says why the manager cannot be told anything; "" if it can.
func (m *Manager) Reachable(ctx context.Context) string {
	if m.program == "" {
		return "there is no " + m.kind.program + " here"
	}
	if m.kind.program != "systemctl" {
		return ""
	}
	if out, err := m.run(ctx, "--user", "show-environment"); err != nil {
		line, _, _ := strings.Cut(out, "\n")
		return "systemd does not run for this user (" + line + ")"
	}
	return ""
}
