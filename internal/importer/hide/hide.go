// Package hide puts references in the place of secrets that a client's config
// holds in plain text.
package hide

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/app"
)

var notInName = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// Name makes a name one that a secret can have, and a shell too: it may be set in
// the environment.
func Name(name string) string {
	name = notInName.ReplaceAllString(name, "_")
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), 100)]
}

// Part makes a name a part of the name of a secret.
func Part(name string) string {
	name = strings.Trim(notInName.ReplaceAllString(name, "_"), "_")
	return name[:min(len(name), 50)]
}

// ServerSecret is the name of a secret of one server alone.
func ServerSecret(server, name string) string { return Name(server + "_" + name) }

var (
	secretWord = regexp.MustCompile(`(?i)TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL|JWT|AUTHORIZATION|COOKIE|` +
		`[_-]PAT$|[_-]PWD$|^PAT$`)
	placeWord  = regexp.MustCompile(`(?i)(?:PATH|FILE|DIR|FOLDER|URL|HOST)$`)
	amountWord = regexp.MustCompile(`(?i)TOKENS|KEYS|MAX|MIN|LIMIT|COUNT|SIZE|LENGTH|TTL|TIMEOUT|EXPIR`)
	pathValue  = regexp.MustCompile(`^(?:[~.]{0,2}[/\\]|[A-Za-z]:[\\/]|https?://)`)
	digits     = regexp.MustCompile(`^[0-9.]+$`)
	truth      = regexp.MustCompile(`(?i)^(?:true|false|yes|no|on|off|none|null)$`)
	// tokenForm is a value that is a secret whatever its name is.
	tokenForm = regexp.MustCompile(`^(?:gh[pousr]_|github_pat_|glpat-|sk-|sk_live_|sk_test_|rk_live_|xox[abeoprs]-|` +
		`xapp-|sbp_|AKIA[0-9A-Z]{12}|AIza|ya29\.|eyJ[A-Za-z0-9_-]+\.|npm_|pypi-|hf_|figd_|lin_api_|ntn_|dop_v1_|` +
		`shpat_|tvly-|pat[A-Za-z0-9]{14}\.)[A-Za-z0-9_.=/+-]{8,}$`)
	scheme    = regexp.MustCompile(`(?i)^((?:Bearer|Basic|Token|ApiKey|Bot|Key)\s+)(.+)$`)
	assigned  = regexp.MustCompile(`^(--?[A-Za-z][A-Za-z0-9_.-]*|[A-Za-z_][A-Za-z0-9_]*)=(.+)$`)
	headerArg = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*:\s*)(.+)$`)
	query     = regexp.MustCompile(`([?&])([A-Za-z0-9_.-]+)=([^&#\s]+)`)
	userInfo  = regexp.MustCompile(`(://[^/@:\s]*:)([^/@\s]+)(@)`)
)

// IsSecretName reports whether a name says that its value is a secret.
func IsSecretName(name string) bool { return secretWord.MatchString(name) }

// isSecret reports whether a value is written in plain text, and is a secret by
// its name or by its form.
func isSecret(name, value string) bool {
	switch {
	case value == "" || truth.MatchString(value):
		return false
	case strings.Contains(strings.ReplaceAll(value, "{{{{", ""), "{{"):
		return false // a reference already
	case tokenForm.MatchString(value):
		return true
	case !IsSecretName(name), placeWord.MatchString(name) && pathValue.MatchString(value),
		amountWord.MatchString(name) && digits.MatchString(value):
		return false
	}
	return true
}

// Secrets hides the secrets of one server.
type Secrets struct {
	// Positions are where values are written: env.NAME, headers.NAME, args.0,
	// url and client_secret. At is where the server is.
	Positions map[string]int
	At        int
	// Reference makes the text that takes a secret's place: name is that of the
	// value, and what and at say which value it was.
	Reference func(name, value, what string, at int) string
}

// Hide puts references in the place of the server's secrets.
func (h Secrets) Hide(s *app.Server) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		place := "env." + name
		s.Env[name] = h.value(name, s.Env[name], place, h.Positions[place])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		place := "headers." + name
		s.Headers[name] = h.value(strings.ToLower(name), s.Headers[name], place, h.Positions[place])
	}
	for i := range s.Args {
		s.Args[i] = h.argument(s.Args, i)
	}
	s.URL = h.url(s.URL, "url", h.Positions["url"])
	if o := s.OAuth; o != nil {
		o.ClientSecret = h.value("client_secret", o.ClientSecret, "the client's secret", h.Positions["client_secret"])
	}
}

// value is a named value without the secret in it.
func (h Secrets) value(name, value, what string, at int) string {
	if m := scheme.FindStringSubmatch(value); m != nil && isSecret(name, m[2]) { // Bearer and the like
		return m[1] + h.Reference(name, m[2], "what follows "+strings.TrimSpace(m[1])+" in "+what, at)
	}
	if isSecret(name, value) {
		return h.Reference(name, value, what, at)
	}
	return h.url(value, what, at)
}

// argument is an argument without the secret in it: the value of an option or
// of a variable, a header, or a text of the form of a secret.
func (h Secrets) argument(args []string, i int) string {
	const what = "one of the args"
	arg, at := args[i], h.At
	if place, ok := h.Positions[Argument(i)]; ok {
		at = place
	}
	if m := assigned.FindStringSubmatch(arg); m != nil && isSecret(m[1], m[2]) {
		return m[1] + "=" + h.Reference(m[1], m[2], what, at)
	}
	if m := headerArg.FindStringSubmatch(arg); m != nil && !strings.HasPrefix(m[2], "//") && IsSecretName(m[1]) {
		name := strings.ToLower(strings.TrimRight(m[1], ": \t"))
		return m[1] + h.value(name, m[2], what, at)
	}
	if i > 0 && isOption(args[i-1]) && !strings.HasPrefix(arg, "-") && isSecret(args[i-1], arg) {
		return h.Reference(args[i-1], arg, what, at)
	}
	if tokenForm.MatchString(arg) {
		return h.Reference(fmt.Sprintf("arg%d", i+1), arg, what, at)
	}
	return h.url(arg, what, at)
}

// isOption reports whether the value of an option follows it as an argument.
func isOption(arg string) bool { return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") }

// Argument is the name of an argument's position.
func Argument(i int) string { return fmt.Sprintf("args.%d", i) }

// url is an address without the password and the keys in it.
func (h Secrets) url(text, what string, at int) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = userInfo.ReplaceAllStringFunc(text, func(part string) string {
		m := userInfo.FindStringSubmatch(part)
		if strings.Contains(m[2], "{{") {
			return part
		}
		return m[1] + h.Reference("password", m[2], "the password in "+what, at) + m[3]
	})
	return query.ReplaceAllStringFunc(text, func(part string) string {
		m := query.FindStringSubmatch(part)
		if !isSecret(m[2], m[3]) {
			return part
		}
		return m[1] + m[2] + "=" + h.Reference(m[2], m[3], m[2]+" in "+what, at)
	})
}
