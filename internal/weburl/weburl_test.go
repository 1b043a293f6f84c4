package weburl_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"callgate/internal/weburl"
)

// Spellings of one address have one form. "" is an error.
func TestForms(t *testing.T) {
	t.Parallel()
	for want, spellings := range map[string][]string{
		"http://localhost/": {
			"http://localhost", "http://localhost/", "HTTP://LOCALHOST/", " http://localhost/ ", "\thttp://localhost\n",
			"http://localhost:80/", "http://localhost:080", "http://localhost:", "http://localhost./", "http://ｌocalhost/",
			"http://LOCALHOST。/", "http://%6cocalhost/", "http://localhost/#part", "http:localhost/", "http:/localhost",
			"http:////localhost/", `http:\\localhost\`, "http://localhost/.", "http://localhost/a/..", "http://localhost/../..",
			"http://localhost/%2e", "http://localhost/a/%2E%2e/", "http://localhost/a/.%2e",
		},
		"http://127.0.0.1/": {
			"http://127.0.0.1", "http://127.1", "http://127.0.1", "http://2130706433", "http://0x7f.1", "http://0X7F000001/",
			"http://0177.0.0.1", "http://017700000001", "http://127.0.0.1.", "http://１２７.0.0.1", "http://127.0.0.1:80",
			"http://[::ffff:127.0.0.1]/", "http://[::FFFF:7f00:1]/", "http://0x7f.0.0x0.1",
		},
		"http://0.0.0.0/":                {"http://0", "http://0x", "http://0.0.0.0"},
		"https://[2001:db8::1]/":         {"https://[2001:DB8:0:0:0:0:0:1]", "https://[2001:db8::0:1]:443/"},
		"https://[::1]:8443/x":           {"https://[0:0:0:0:0:0:0:1]:08443/x", "https://[::1]:8443/./x"},
		"https://xn--bcher-kva.example/": {"https://bücher.example", "https://BÜCHER.example/", "https://xn--bcher-kva.example."},
		"https://example.com/secret/x": {
			"https://example.com/secret/x", "https://example.com/%73ecret/x", "https://example.com/%73%65%63%72%65%74/%78",
			"https://example.com/a/../secret/x", "https://example.com/secret/./x", `https://example.com\secret\x`,
			"https://EXAMPLE.com:00443/secret/x", "https://example.com/..//../secret/y/../x",
		},
		"https://example.com/a%20b%2Fc%C3%A9?q=a%20b%22": {
			"https://example.com/a b%2fcé?q=a b\"", "https://example.com/a%20b%2Fc%c3%a9?q=%61%20b%22",
		},
		"https://example.com/?":        {"https://example.com?", "https://example.com/?#x"},
		"https://example.com/?a=/../b": {"https://example.com?a=/../b"},
		"https://example.com//a":       {"https://example.com//a"},
		"https://example.com/a;b=1,2":  {"https://example.com/a;b=1,2"},
		"wss://example.com/":           {"WSS://example.com:443"},
		"": {
			"", "example.com", "//example.com/x", "/x", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "http://",
			"http:///", "http://:80/", "http://a..b/", "http://.a/", "http://a b/", "http://a\tb/", "http://a/\x00", "http://a/\nb",
			"http://a:0/", "http://a:65536/", "http://a:x/", "http://a:-1/", "http://[::1", "http://[::1%25eth0]/", "http://[1.2.3.4]/",
			"http://256.1.1.1/", "http://1.2.3.4.5/", "http://0x7g.1/", "http://09.1.1.1/", "http://4294967296/", "http://a/%", "http://a/%g0",
			"http://a%2fb/", "http://a%00b/", "http://a<b/", "http://" + strings.Repeat("a", 64) + ".b/", "http://\xff/", "ht tp://a/",
			"http://" + strings.Repeat("ü", 20_000) + "/",
		},
	} {
		for _, text := range spellings {
			u, err := weburl.Parse(text)
			got := ""
			if err == nil {
				got = u.String()
			}
			if got != want {
				t.Errorf("%q: %q, %v; want %q", text, got, err, want)
			}
		}
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	u, err := weburl.Parse("http://Ada:pa%20ss@Example.com/a?x#Part%20One")
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	if u.Host != "example.com" || u.Port != 80 || u.User.Username() != "Ada" || password != "pa ss" || u.Fragment != "Part One" ||
		u.String() != "http://example.com/a?x" || u.Destination() != "http://example.com" {
		t.Errorf("%+v", u)
	}
	for text, want := range map[string]bool{
		"http://localhost:8080": true, "http://a.localhost": true, "http://127.9.9.9": true, "http://[::1]": true,
		"http://2130706433": true, "http://localhost.example.com": false, "http://128.0.0.1": false, "http://10.0.0.1": false,
	} {
		if u, err := weburl.Parse(text); err != nil || u.IsLoopback() != want {
			t.Errorf("%s: loopback %v, %v", text, !want, err)
		}
	}
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"https://a/x", "https://A./y?z", true}, {"http://a/x", "https://a/x", true}, {"https://a/x", "http://a/x", false},
		{"http://a:8080/", "https://a:8080/", false}, {"http://a/", "https://a:444/", false}, {"https://a/", "https://b/", false},
		{"https://a/", "https://www.a/", false},
	} {
		from, _ := weburl.Parse(c.from)
		to, _ := weburl.Parse(c.to)
		if from.Covers(to) != c.want {
			t.Errorf("%s covers %s: %v", c.from, c.to, !c.want)
		}
	}
}

// A rule that forbids looks at every way in which a server may read a path.
func TestReadings(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/a/b": "a/b", "/a%2Fb": "a/b", "/x/..%2Fa/b": "a/b", "/x%2f..%2fa%2fb": "a/b", "//a///b": "a/b", "/a;v=1/b;w": "a/b",
		"/a%252Fb": "a/b", "/x/%252e%252e/a/b": "a/b", "/a%5Cb": "a/b", "/a%255cb": "a/b", "/a/b/": "a/b/", "/%61%2Fb": "a/b",
		"/..;/a/b": "a/b",
	} {
		u, err := weburl.Parse("http://h" + path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(u.Readings(), func(r weburl.Reading) bool { return r.Path == want }) {
			t.Errorf("%s is read as %q, want %s among them", path, u.Readings(), want)
		}
	}
}

// An address that is parsed is in its form for good; what is requested is that form, and
// the standard library reads it so.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"http://0x7f.1:080/%2e%2e/a%2fb?x=%41#y", "https://ｌocalhost。/", "http://[::ffff:1.2.3.4]/", `http:\\a\..\b;c`,
		"https://u:p@bücher.example:8443//a/./b/../?", "http://a/%25%32%65", "ws://1.2", "http://xn--a/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := weburl.Parse(text)
		if err != nil {
			return
		}
		form := u.String()
		again, err := weburl.Parse(form)
		if err != nil || again.String() != form {
			t.Fatalf("%q: %q is parsed as %v, %v", text, form, again, err)
		}
		if again.Destination() != u.Destination() || again.IsLoopback() != u.IsLoopback() || !u.Covers(again) {
			t.Errorf("%q: %q is another destination", text, form)
		}
		if got := u.Request().String(); got != form {
			t.Errorf("%q: %q is requested as %q", text, form, got)
		}
		std, err := url.Parse(form)
		if err != nil || std.String() != form || std.Hostname() != u.Host || std.User != nil {
			t.Errorf("%q: the standard library reads %q as %v, %v", text, form, std, err)
		}
		if strings.Contains(u.Path, "/../") || strings.Contains(u.Path, "/./") || !strings.HasPrefix(u.Path, "/") {
			t.Errorf("%q: the path %q", text, u.Path)
		}
		for _, r := range u.Readings()[1:] {
			if strings.Contains("/"+r.Path+"/", "/../") {
				t.Errorf("%q: a reading leaves dots: %q", text, r.Path)
			}
		}
	})
}
