package importer

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/app"
)

// transport decides how the server is spoken to, by what is named and what is
// there.
func (d *draft) transport() {
	if len(d.command) > 0 {
		d.s.Command, d.s.Args = d.command[0], append(d.command[1:len(d.command):len(d.command)], d.s.Args...)
	}
	switch d.kind {
	case "stdio", "local":
		if d.s.URL != "" && d.s.Command != "" {
			d.note("its url is left out, as it was said to be a program")
			d.s.URL, d.s.Headers, d.s.OAuth = "", nil, nil
		}
		d.s.Transport = ""
	case "http", "streamable-http", "streamablehttp", "streamable_http", "sse", "remote":
		if d.s.URL != "" && d.s.Command != "" {
			d.note("its command is left out, as it was said to be at a url")
			d.s.Command, d.s.Args, d.s.Env, d.s.Dir = "", nil, nil, ""
		}
		if d.kind == "sse" {
			d.s.Transport = "sse"
		} else if d.kind != "remote" {
			d.s.Transport = "http"
		}
	case "":
	default:
		d.fail(d.at, "it is spoken to over %s, which is not known here", quote(d.kind))
		return
	}
	switch web := strings.HasPrefix(d.s.URL, "http://") || strings.HasPrefix(d.s.URL, "https://") || strings.HasPrefix(d.s.URL, "{{"); {
	case d.bad:
	case d.s.Command == "" && d.s.URL == "":
		d.fail(d.at, "it has neither a command nor a url")
	case d.s.Command != "" && d.s.URL != "":
		d.fail(d.at, "it has a command and a url, and does not say which is meant")
	case d.s.URL != "" && !web:
		scheme, _, _ := strings.Cut(d.s.URL, ":") // the rest may hold a key
		d.fail(d.at, "its url begins with %s, and not with https or http", quote(scheme))
	}
}

// normalize fills in what the client would have done by itself, and says what an
// app file cannot.
func (d *draft) normalize() {
	s := &d.s
	if s.URL != "" {
		if len(s.Env) > 0 || s.Dir != "" || len(s.Args) > 0 {
			d.note("its args, env and cwd are left out: it is at a url")
		}
		s.Args, s.Env, s.Dir, s.EnvAllow = nil, nil, "", nil
	} else {
		if len(s.Headers) > 0 || s.OAuth != nil {
			d.note("its headers and its login are left out: it is a program")
		}
		s.Headers, s.OAuth, s.Transport = nil, nil, ""
		d.folder()
		d.inherit()
	}
	if len(d.allowed) > 0 {
		d.note("only some of its tools were on; to have it so here, write tools.modules.%s.constraints.allowed_actions: [%s]",
			app.ServerModule(s.Name), strings.Join(d.allowed, ", "))
	}
	for _, text := range d.everything() {
		if text != "" && strings.TrimSpace(text) == "" {
			d.fail(d.at, "a text of it is only spaces, and an app file does not take that")
			return
		}
		if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' || c == 0x7f || c == '\ufeff' }) {
			d.fail(d.at, "a text of it holds a control character")
			return
		}
	}
	tidy(s)
}

// everything is each text of the server, names included.
func (d *draft) everything() []string {
	var all []string
	each(&d.s, func(text string) string { all = append(all, text); return text })
	for _, m := range []map[string]string{d.s.Env, d.s.Headers} {
		for name := range m {
			all = append(all, name)
		}
	}
	for name := range d.s.Tools {
		all = append(all, name)
	}
	if d.s.OAuth != nil {
		all = append(append(all, d.s.OAuth.ClientID), d.s.OAuth.Scopes...)
	}
	return append(all, d.s.EnvAllow...)
}

// folder gives a program the folder that its client runs it in, where it
// matters: when it is named by a path that starts there.
func (d *draft) folder() {
	s := &d.s
	if s.Dir != "" {
		if !filepath.IsAbs(s.Dir) && !strings.HasPrefix(s.Dir, "{{") && !windowsPath.MatchString(s.Dir) {
			s.Dir = strings.TrimSuffix("{{workdir}}/"+strings.TrimPrefix(strings.TrimPrefix(s.Dir, "."), "/"), "/")
		}
		if strings.Contains(s.Dir, "{{secret.") {
			d.fail(d.at, "a secret cannot be part of its cwd")
		}
		return
	}
	if d.relative(s.Command) || slices.ContainsFunc(s.Args[:min(len(s.Args), 50)], d.relative) {
		s.Dir = "{{workdir}}"
	}
}

var windowsPath = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

func (d *draft) relative(arg string) bool {
	switch {
	case arg == "." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../") || strings.HasPrefix(arg, `.\`) || strings.HasPrefix(arg, `..\`):
		return true
	case d.env.Workspace == "" || filepath.IsAbs(arg) || strings.HasPrefix(arg, "-") || !strings.ContainsAny(arg, `/\.`) || len(arg) > 1000:
		return false
	}
	_, err := os.Stat(filepath.Join(d.env.Workspace, filepath.FromSlash(arg)))
	return err == nil
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// inherit lets a program have the variables of the kernel's environment that
// it was meant to hand on: docker run -e NAME takes NAME from its own.
func (d *draft) inherit() {
	s := &d.s
	args := append([]string{s.Command}, s.Args...)
	container := slices.ContainsFunc(args[:min(len(args), 4)], func(arg string) bool {
		return slices.Contains([]string{"docker", "podman", "nerdctl"}, strings.TrimSuffix(filepath.Base(arg), ".exe"))
	})
	for i := 1; container && i < len(args); i++ {
		name := strings.TrimPrefix(args[i], "--env=")
		if args[i-1] != "-e" && args[i-1] != "--env" && name == args[i] {
			continue
		}
		if _, given := s.Env[name]; !given && envName.MatchString(name) {
			s.EnvAllow = append(s.EnvAllow, name)
		}
	}
	s.EnvAllow = slices.DeleteFunc(s.EnvAllow, func(name string) bool {
		return !envName.MatchString(name) || strings.HasPrefix(name, "CALLGATE_")
	})
	slices.Sort(s.EnvAllow)
	s.EnvAllow = slices.Compact(s.EnvAllow)
	if len(s.EnvAllow) > 0 {
		d.note("it is given %s of the kernel's environment", strings.Join(s.EnvAllow, ", "))
	}
}

// tidy makes what is empty absent.
func tidy(s *app.Server) {
	if len(s.Args) == 0 {
		s.Args = nil
	}
	if len(s.Env) == 0 {
		s.Env = nil
	}
	if len(s.Headers) == 0 {
		s.Headers = nil
	}
	if len(s.EnvAllow) == 0 {
		s.EnvAllow = nil
	}
	if o := s.OAuth; o != nil && len(o.Scopes) == 0 {
		o.Scopes = nil
	}
}

// each puts every text of a server that may hold a reference through a
// function.
func each(s *app.Server, change func(string) string) {
	s.Command, s.Dir, s.URL = change(s.Command), change(s.Dir), change(s.URL)
	for i := range s.Args {
		s.Args[i] = change(s.Args[i])
	}
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for name, value := range m {
			m[name] = change(value)
		}
	}
	if s.OAuth != nil {
		s.OAuth.ClientSecret = change(s.OAuth.ClientSecret)
	}
}

// fingerprintOf tells servers apart, whatever they are called.
func fingerprintOf(s app.Server) [32]byte {
	s.Name = ""
	data, err := json.Marshal(s)
	if err != nil {
		panic("importer: a server is always JSON: " + err.Error()) // it holds nothing that is not
	}
	return sha256.Sum256(data)
}
