package trust_test

import (
	"fmt"
	"strings"
	"testing"

	"callgate/internal/source/mcp/trust"
)

// fiftyTools is the list of a server of the usual size.
func fiftyTools() (now []trust.Definition) {
	for i := range 50 {
		now = append(now, def(fmt.Sprintf("tool%d: %s", i, strings.Repeat("Does one thing and says so. ", 8))))
	}
	return now
}

// servers makes a store with some servers.
func servers(b *testing.B, n int) *trust.Store {
	b.Helper()
	s := open(b)
	for i := range n {
		if _, err := s.Review(fmt.Sprint("server", i), fiftyTools(), trust.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// The usual case: nothing changed since the last time.
func BenchmarkReviewUnchanged(b *testing.B) {
	s, now := servers(b, 20), fiftyTools()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Review("server7", now, trust.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMayLaunch(b *testing.B) {
	for _, n := range []int{1, 70} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, line := servers(b, n), []string{"npx", "-y", "server"}
			if err := s.AcceptLaunch("server0", line, "ada"); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.MayLaunch("server0", line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAcceptLaunch(b *testing.B) {
	s := servers(b, 70)
	i := 0
	for b.Loop() {
		i++
		if err := s.AcceptLaunch("server7", []string{"x", fmt.Sprint(i)}, "ada"); err != nil {
			b.Fatal(err)
		}
	}
}

// One server of many: 100 tools, beside 69 servers with 100 tools each.
func BenchmarkReviewAmongMany(b *testing.B) {
	var now []trust.Definition
	for i := range 100 {
		now = append(now, def(fmt.Sprintf("tool%d: %s", i, strings.Repeat("Does one thing and says so. ", 8))))
	}
	for _, servers := range []int{0, 69} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			var others []string
			for i := range servers * 100 {
				others = append(others, fmt.Sprintf("server%d_action_%d", i/100, i%100))
			}
			s := open(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Review("server7", now, trust.Options{Others: others}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
