package sandbox

import "testing"

// Git's settings are shown without the lines that hold credentials, and with all others.
func TestCleanGitSettings(t *testing.T) {
	t.Parallel()
	const user = "[user]\n\tname = Ann\n\temail = ann@example.com\n"
	for name, c := range map[string]struct{ text, clean string }{
		"plain":                     {user, user},
		"empty":                     {"", ""},
		"a helper's name":           {"[credential]\n\thelper = store\n", "[credential]\n\thelper = store\n"},
		"a rewrite without a token": {"[url \"ssh://git@host/\"]\n\tinsteadOf = https://host/\n", "[url \"ssh://git@host/\"]\n\tinsteadOf = https://host/\n"},
		"an scp address":            {"[url \"git@host:\"]\n\tinsteadOf = gh:\n", "[url \"git@host:\"]\n\tinsteadOf = gh:\n"},
		"a header":                  {user + "[http]\n\tsslVerify = true\n\textraHeader = AUTHORIZATION: basic abc\n", user + "[http]\n\tsslVerify = true\n"},
		"a header of a host":        {"[http \"https://host/\"]\n\textraheader = x: y\n" + user, "[http \"https://host/\"]\n" + user},
		"a header that goes on":     {"[http]\n\textraHeader = \\\n  AUTHORIZATION: basic abc\n" + user, "[http]\n" + user},
		"a token in a rewrite":      {"[url \"https://ghp_x@host/\"]\n\tinsteadOf = https://host/\n" + user, user},
		"a password in a rewrite":   {"[url \"ssh://a:b@host/\"]\n\tinsteadOf = https://host/\n" + user, user},
		"a token that is replaced":  {"[url \"x\"]\n\tinsteadOf = https://a:b@host/\n", "[url \"x\"]\n"},
		"a proxy's password":        {"[http]\n\tproxy = socks5://a:b@host:1\n", "[http]\n"},
		"a password of mail":        {"[sendemail]\n\tsmtpPass = hunter2\n\tsmtpUser = ann\n", "[sendemail]\n\tsmtpUser = ann\n"},
		"a token of a host":         {"[github]\n\tuser = ann\n\ttoken = abc\n", "[github]\n\tuser = ann\n"},
		"all in one line":           {"[github] token = abc\n\tuser = ann\n" + user, user},
		"a helper that is a script": {"[credential]\n\thelper = \"!f() { echo password=abc; }; f\"\n", "[credential]\n"},
		"an alias with a token":     {"[alias]\n\tx = !curl -H 'Authorization: Bearer abc' host\n\ty = log\n", "[alias]\n\ty = log\n"},
	} {
		clean, dropped := cleanGitSettings(c.text)
		if clean != c.clean || dropped != (c.clean != c.text) {
			t.Errorf("%s: %q, %v; want %q", name, clean, dropped, c.clean)
		}
	}
}
