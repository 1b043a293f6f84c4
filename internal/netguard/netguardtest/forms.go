// Package netguardtest is a network for tests of guards: every address in it
// answers, a hostile name server resolves its names, and there are some hundred
// ways to write one address.
//
// In this network all IPv4 and IPv6 addresses are the machine itself, and the
// same server, the canary, listens at each. A connection to any address but the
// public ones has got past the guard, and the server has seen it.
package netguardtest

import (
	"fmt"
	"net/netip"
	"strings"
)

// Form is one way to write a URL that leads where it should not.
type Form struct {
	Name string
	URL  string
}

// Targets returns addresses that are not public: one of each class, and the ends
// of the prefixes.
func Targets() []netip.Addr {
	var all []netip.Addr
	for _, text := range []string{
		"127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0.1.2.3",
		"169.254.169.254", "169.254.170.2", "169.254.1.1", "10.0.0.1", "10.255.255.254",
		"172.16.0.1", "172.31.255.254", "192.168.0.1", "192.168.255.254",
		"100.64.0.1", "100.127.255.254", "100.100.100.200",
		"192.0.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.19.255.254", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16", "192.88.99.1",
	} {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

// targets6 lists IPv6 addresses that are not public, as they stand in a URL.
var targets6 = []string{
	"::1", "0:0:0:0:0:0:0:1", "0000:0000:0000:0000:0000:0000:0000:0001", "::0:1", "0::1", "::0.0.0.1",
	"::", "0:0:0:0:0:0:0:0", "::0.0.0.0",
	"fe80::1%25lo", "fe80::1%lo", "fe80::1", "::1%25lo", "::1%lo", "FE80::1%25lo",
	"fc00::1", "fd00::1", "fd00:ec2::254", "FD00:EC2::254", "fd20:ce::254", "fdff:ffff::1", "fec0::1", "feff::1",
	"ff02::1", "ff0e::1", "100::1", "2001:db8::1", "3fff::1", "2001:2::1", "2001:10::1", "2001:20::1",
	"5f00::1", "64:ff9b:1::1", "4000::1",
}

// Forms returns every target in every spelling, and other URLs that lead to a
// target. Names end in .test; the network's own name server resolves them.
func Forms() []Form {
	var all []Form
	add := func(name, url string) { all = append(all, Form{name, url}) }
	for _, addr := range Targets() {
		for name, host := range spellings(addr) {
			add(name+" of "+addr.String(), "http://"+host+"/")
		}
	}
	for _, host := range targets6 {
		add("the address "+host, "http://["+host+"]/")
		add("the address "+host+", with a port", "http://["+host+"]:8080/")
	}
	for _, host := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "[::1]", "localhost"} {
		for name, url := range disguises(host) {
			add(name+" "+host, url)
		}
	}
	for _, host := range []string{
		"localhost", "LOCALHOST", "LocalHost", "localhost.", "a.localhost", "a.b.localhost", "A.LOCALHOST.",
		"ｌｏｃａｌｈｏｓｔ", "ⓛocalhost", "local%68ost",
		"loop.test", "LOOP.TEST", "loop.test.", "link.test", "private.test", "unique.test", "mapped.test",
		"alias.test", "alias2.test", "mixed4.test", "mixed6.test", "mixed46.test", "nat64.test", "sixtofour.test",
		"teredo.test", "zero.test", "many.test",
	} {
		add("the name "+host, "http://"+host+"/")
		add("the name "+host+", https", "https://"+host+"/")
	}
	for i := range 12 { // names that are public at first and private after
		add("a rebinding name", fmt.Sprintf("http://rebind%d.test/", i))
	}
	return all
}

// spellings returns the ways to write an IPv4 address as a host.
func spellings(addr netip.Addr) map[string]string {
	b := addr.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	dotted := addr.String()
	each := func(format string) string { return fmt.Sprintf(format, b[0], b[1], b[2], b[3]) }
	return map[string]string{
		"plain":                 dotted,
		"plain with a port":     dotted + ":8080",
		"an empty port":         dotted + ":",
		"a dot at the end":      dotted + ".",
		"two dots at the end":   dotted + "..",
		"decimal":               fmt.Sprint(n),
		"decimal, dot":          fmt.Sprint(n) + ".",
		"decimal, port":         fmt.Sprint(n) + ":8080",
		"decimal past 32 bits":  fmt.Sprint(uint64(n) + 1<<32),
		"hexadecimal":           fmt.Sprintf("0x%x", n),
		"HEXADECIMAL":           fmt.Sprintf("0X%X", n),
		"hexadecimal padded":    fmt.Sprintf("0x0000%08x", n),
		"octal":                 fmt.Sprintf("0%o", n),
		"octal padded":          fmt.Sprintf("0000%o", n),
		"hexadecimal, dotted":   each("0x%x.0x%x.0x%x.0x%x"),
		"octal, dotted":         each("0%o.0%o.0%o.0%o"),
		"octal, dotted, padded": each("%08o.%08o.%08o.%08o"),
		"zeros before":          each("%03d.%03d.%03d.%03d"),
		"mixed":                 each("0x%x.0%o.%d.0x%x"),
		"mixed otherwise":       each("%d.0x%x.0%o.%d"),
		"three parts":           fmt.Sprintf("%d.%d.%d", b[0], b[1], uint32(b[2])<<8|uint32(b[3])),
		"two parts":             fmt.Sprintf("%d.%d", b[0], n&0xffffff),
		"two parts, hex":        fmt.Sprintf("0x%x.0x%x", b[0], n&0xffffff),
		"full width":            widen(dotted),
		"circled digits":        circle(dotted),
		"ideographic dots":      strings.ReplaceAll(dotted, ".", "。"),
		"full-width dots":       strings.ReplaceAll(dotted, ".", "．"),
		"half-width dots":       strings.ReplaceAll(dotted, ".", "｡"),
		"mathematical digits":   shift(dotted, '𝟎'),
		"percent digits":        percent(dotted),
		"percent dots":          strings.ReplaceAll(dotted, ".", "%2e"),
		"percent twice":         strings.ReplaceAll(dotted, ".", "%252e"),
		"percent full width":    percent(widen(dotted)),
		"soft hyphens":          strings.ReplaceAll(dotted, ".", ".\u00ad"),
		"mapped":                "[::ffff:" + dotted + "]",
		"MAPPED":                "[::FFFF:" + dotted + "]",
		"mapped in hex":         fmt.Sprintf("[::ffff:%x:%x]", n>>16, n&0xffff),
		"mapped in full":        fmt.Sprintf("[0:0:0:0:0:ffff:%x:%x]", n>>16, n&0xffff),
		"compatible":            "[::" + dotted + "]",
		"translated":            "[::ffff:0:" + dotted + "]",
		"NAT64":                 "[64:ff9b::" + dotted + "]",
		"NAT64 in hex":          fmt.Sprintf("[64:ff9b::%x:%x]", n>>16, n&0xffff),
		"NAT64 of one's own":    "[64:ff9b:1::" + dotted + "]",
		"6to4":                  fmt.Sprintf("[2002:%x:%x::1]", n>>16, n&0xffff),
		"Teredo client":         fmt.Sprintf("[2001:0:5bcf:1::%x:%x]", ^n>>16, ^n&0xffff),
		"Teredo server":         fmt.Sprintf("[2001:0:%x:%x::1]", n>>16, n&0xffff),
		"ISATAP":                fmt.Sprintf("[2a00::200:5efe:%x:%x]", n>>16, n&0xffff),
		"a name for it":         "at-" + strings.ReplaceAll(dotted, ".", "-") + ".test",
		"a name for it, mapped": "at6-" + strings.ReplaceAll(dotted, ".", "-") + ".test",
	}
}

// disguises returns the ways to hide the host of a URL.
func disguises(host string) map[string]string {
	const pub = "public.test"
	return map[string]string{
		"user before":              "http://" + pub + "@" + host + "/",
		"user and password before": "http://" + pub + ":80@" + host + "/",
		"user with percent":        "http://" + pub + "%2f@" + host + "/",
		"backslash":                "http://" + pub + "\\@" + host + "/",
		"backslash after":          "http://" + host + "\\@" + pub + "/",
		"two ats":                  "http://a@" + pub + "@" + host + "/",
		"fragment":                 "http://" + host + "#@" + pub + "/",
		"question":                 "http://" + host + "?@" + pub + "/",
		"semicolon":                "http://" + pub + ";@" + host + "/",
		"SCHEME":                   "HTTP://" + host + "/",
		"https":                    "https://" + host + "/",
		"ws":                       "ws://" + host + "/",
		"a tab":                    "http://" + host[:1] + "\t" + host[1:] + "/",
		"a line end":               "http://" + host + "\r\n/",
		"a space before":           "http:// " + host + "/",
		"a space after":            "http://" + host + " /",
		"no slashes":               "http:" + host + "/",
		"one slash":                "http:/" + host + "/",
		"three slashes":            "http:///" + host + "/",
		"backslashes":              "http:\\\\" + host + "\\",
		"a port of another public": "http://" + host + ":80:80/",
		"a zero byte":              "http://" + host + "\x00." + pub + "/",
		"a percent zero byte":      "http://" + host + "%00." + pub + "/",
		"ftp":                      "ftp://" + host + "/",
		"gopher":                   "gopher://" + host + ":8080/_GET",
		"file":                     "file://" + host + "/etc/hosts",
		"a path with a host":       "http://" + host + "/http://" + pub + "/",
		"a colon before":           "http://:80@" + host + "/",
		"port 443 in plain":        "http://" + host + ":443/",
		"port with zeros":          "http://" + host + ":00080/",
	}
}

func widen(s string) string { return strings.ReplaceAll(shift(s, '０'), ".", "．") }

// shift replaces digits by those of another script, which begin at zero.
func shift(s string, zero rune) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return zero + r - '0'
		}
		return r
	}, s)
}

func circle(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '0':
			return '⓪'
		case '1' <= r && r <= '9':
			return '①' + r - '1'
		default:
			return r
		}
	}, s)
}

func percent(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}
