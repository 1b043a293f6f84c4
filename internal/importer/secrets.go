package importer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var notInName = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// secretName makes a name one that a secret can have, and a shell too: it may
// be set in the environment.
func secretName(name string) string {
	name = notInName.ReplaceAllString(name, "_")
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), 100)]
}

// ownSecret is the name of a secret of this server alone. It holds the
// server's name, so it changes when that does.
func (d *draft) ownSecret(name string) string {
	if len(d.hidden) == maxSecrets {
		d.fail(d.at, "it takes more than %d secrets", maxSecrets)
		return secretName(name)
	}
	name = strings.Trim(notInName.ReplaceAllString(name, "_"), "_")
	name = name[:min(len(name), 50)]
	base := name
	for n := 2; slices.Contains(d.hidden, name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	d.hidden = append(d.hidden, name)
	return serverSecret(d.s.Name, name)
}

func serverSecret(server, name string) string { return secretName(server + "_" + name) }

var (
	secretWord = regexp.MustCompile(`(?i)TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL|JWT|AUTHORIZATION|COOKIE|[_-]PAT$|[_-]PWD$|^PAT$`)
	placeWord  = regexp.MustCompile(`(?i)(?:PATH|FILE|DIR|FOLDER|URL|HOST)$`)
	amountWord = regexp.MustCompile(`(?i)TOKENS|KEYS|MAX|MIN|LIMIT|COUNT|SIZE|LENGTH|TTL|TIMEOUT|EXPIR`)
	pathValue  = regexp.MustCompile(`^(?:[~.]{0,2}[/\\]|[A-Za-z]:[\\/]|https?://)`)
	digits     = regexp.MustCompile(`^[0-9.]+$`)
	truth      = regexp.MustCompile(`(?i)^(?:true|false|yes|no|on|off|none|null)$`)
	// tokenForm is a value that is a secret whatever it is called.
	tokenForm = regexp.MustCompile(`^(?:gh[pousr]_|github_pat_|glpat-|sk-|sk_live_|sk_test_|rk_live_|xox[abeoprs]-|xapp-|sbp_|AKIA[0-9A-Z]{12}|AIza|ya29\.|eyJ[A-Za-z0-9_-]+\.|npm_|pypi-|hf_|figd_|lin_api_|ntn_|dop_v1_|shpat_|tvly-|pat[A-Za-z0-9]{14}\.)[A-Za-z0-9_.=/+-]{8,}$`)
	scheme    = regexp.MustCompile(`(?i)^((?:Bearer|Basic|Token|ApiKey|Bot|Key)\s+)(.+)$`)
	assigned  = regexp.MustCompile(`^(--?[A-Za-z][A-Za-z0-9_.-]*|[A-Za-z_][A-Za-z0-9_]*)=(.+)$`)
	headerArg = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*:\s*)(.+)$`)
	query     = regexp.MustCompile(`([?&])([A-Za-z0-9_.-]+)=([^&#\s]+)`)
	userInfo  = regexp.MustCompile(`(://[^/@:\s]*:)([^/@\s]+)(@)`)
)

// secretish reports whether a name says that its value is a secret.
func secretish(name string) bool { return secretWord.MatchString(name) }

// holdsSecret reports whether a value stands there in plain text, and is a
// secret by its name or by its look.
func holdsSecret(name, value string) bool {
	switch {
	case value == "" || strings.Contains(strings.ReplaceAll(value, "{{{{", ""), "{{") || truth.MatchString(value):
		return false
	case tokenForm.MatchString(value):
		return true
	case !secretish(name), placeWord.MatchString(name) && pathValue.MatchString(value), amountWord.MatchString(name) && digits.MatchString(value):
		return false
	}
	return true
}

// hide puts references in the place of secrets.
func (d *draft) hide() {
	for _, name := range slices.Sorted(maps.Keys(d.s.Env)) {
		at := d.places["env."+name]
		d.s.Env[name] = d.hideValue(name, d.s.Env[name], "env."+name, at)
	}
	for _, name := range slices.Sorted(maps.Keys(d.s.Headers)) {
		at := d.places["headers."+name]
		d.s.Headers[name] = d.hideValue(strings.ToLower(name), d.s.Headers[name], "headers."+name, at)
	}
	for i := range d.s.Args {
		d.s.Args[i] = d.hiddenArg(i)
	}
	d.s.URL = d.hiddenURL(d.s.URL, "url", d.places["url"])
	if o := d.s.OAuth; o != nil {
		o.ClientSecret = d.hideValue("client_secret", o.ClientSecret, "the client's secret", d.places["client_secret"])
	}
}

// hideValue is a named value without the secret in it.
func (d *draft) hideValue(name, value, what string, at int) string {
	if lead, rest, ok := splitScheme(value); ok && (holdsSecret(name, rest) || tokenForm.MatchString(rest)) {
		return lead + d.instead(name, "what follows "+strings.TrimSpace(lead)+" in "+what, at)
	}
	if holdsSecret(name, value) {
		return d.instead(name, what, at)
	}
	return d.hiddenURL(value, what, at)
}

// splitScheme splits Bearer and its like from what follows.
func splitScheme(value string) (lead, rest string, ok bool) {
	if m := scheme.FindStringSubmatch(value); m != nil {
		return m[1], m[2], true
	}
	return "", "", false
}

// hiddenArg is an argument without the secret in it: the value of an option or
// of a variable, a header, or what looks like one.
func (d *draft) hiddenArg(i int) string {
	const what = "one of the args"
	arg, at := d.s.Args[i], d.at
	if place, ok := d.places[argument(i)]; ok {
		at = place
	}
	if m := assigned.FindStringSubmatch(arg); m != nil && holdsSecret(m[1], m[2]) {
		return m[1] + "=" + d.instead(m[1], what, at)
	}
	if m := headerArg.FindStringSubmatch(arg); m != nil && !strings.HasPrefix(m[2], "//") && secretish(m[1]) {
		name := strings.ToLower(strings.TrimRight(m[1], ": \t"))
		return m[1] + d.hideValue(name, m[2], what, at)
	}
	if i > 0 && strings.HasPrefix(d.s.Args[i-1], "-") && !strings.Contains(d.s.Args[i-1], "=") && !strings.HasPrefix(arg, "-") && holdsSecret(d.s.Args[i-1], arg) {
		return d.instead(d.s.Args[i-1], what, at)
	}
	if tokenForm.MatchString(arg) {
		return d.instead(fmt.Sprintf("arg%d", i+1), what, at)
	}
	return d.hiddenURL(arg, what, at)
}

// hiddenURL is an address without the password and the keys in it.
func (d *draft) hiddenURL(text, what string, at int) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = userInfo.ReplaceAllStringFunc(text, func(part string) string {
		m := userInfo.FindStringSubmatch(part)
		if strings.Contains(m[2], "{{") {
			return part
		}
		return m[1] + d.instead("password", "the password in "+what, at) + m[3]
	})
	return query.ReplaceAllStringFunc(text, func(part string) string {
		m := query.FindStringSubmatch(part)
		if !holdsSecret(m[2], m[3]) {
			return part
		}
		return m[1] + m[2] + "=" + d.instead(m[2], m[2]+" in "+what, at)
	})
}

// instead is the reference that takes a secret's place.
func (d *draft) instead(name, what string, at int) string {
	ref := d.ownSecret(name)
	d.needs(ref, fmt.Sprintf("its value is %s, at %s:%d", what, d.source.Path, d.lines.Of(at)))
	return "{{secret." + ref + "}}"
}
