//go:build unix

// Package mailtest has a real mail server for tests: Dovecot for mailboxes and Exim for
// sending, as processes of their own with a folder and ports of their own. Law: they run
// as no privileged user, are started when a test first needs them, and end with the tests.
package mailtest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Password is that of every user, and Token the beginning of the token of each: the name
// follows.
const (
	Password = "h0rse.battery-staple"
	Token    = "tok3n-of-"
)

var errNotInstalled = errors.New("not installed")

// Servers starts the servers of one test process. The zero value is ready; a test package
// declares one and stops it in its TestMain, by Main.
type Servers struct {
	once   sync.Once
	server *Server
	err    error
	stops  []func()
}

// Server is a running mail server.
type Server struct {
	IMAP, IMAPS, SMTP, SMTPS int // ports on 127.0.0.1; the first of each offers STARTTLS
	Roots                    *x509.CertPool

	dir   string
	uid   int
	gid   int
	owner string
	group string
	users atomic.Int64
}

// Main runs the tests of a package and stops the servers. It returns the exit code.
func (s *Servers) Main(m *testing.M) int {
	code := m.Run()
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
	return code
}

// Get returns the server. It skips the test where none is installed.
func (s *Servers) Get(t testing.TB) *Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = s.start() })
	switch {
	case errors.Is(s.err, errNotInstalled):
		t.Skip(s.err)
	case s.err != nil:
		t.Fatal(s.err)
	}
	return s.server
}

// NewUser makes a user with an empty mailbox, whose address is name@example.com.
func (s *Server) NewUser(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("u%d", s.users.Add(1))
	if err := s.mkdir(filepath.Join("home", name)); err != nil {
		t.Fatal(err)
	}
	return name
}

func (s *Server) mkdir(name string) error {
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chown(dir, s.uid, s.gid)
}

func (s *Servers) start() (*Server, error) {
	dovecot, err1 := find("dovecot")
	exim, err2 := find("exim4")
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("a mail server is %w (apt-get install dovecot-imapd exim4-daemon-light)", errNotInstalled)
	}
	dir, err := os.MkdirTemp("", "callgate-mail")
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() { _ = os.RemoveAll(dir) })
	server := &Server{dir: dir}
	if err := server.prepare(); err != nil {
		return nil, err
	}
	tokens, err := s.serveTokens()
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"dovecot.conf": server.fill(dovecotConf), "exim.conf": server.fill(eximConf),
		"oauth.conf": fmt.Sprintf(oauthConf, tokens),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if err := s.run(server, dovecot, "-F", "-c", filepath.Join(dir, "dovecot.conf")); err != nil {
		return nil, err
	}
	if err := s.run(server, exim, "-C", filepath.Join(dir, "exim.conf"), "-bdf"); err != nil {
		return nil, err
	}
	for _, port := range []int{server.IMAP, server.IMAPS, server.SMTP, server.SMTPS} {
		if err := server.await(port); err != nil {
			return nil, err
		}
	}
	return server, nil
}

func find(name string) (string, error) {
	if path := filepath.Join("/usr/sbin", name); fileExists(path) {
		return path, nil
	}
	return exec.LookPath(name)
}

func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }

// prepare chooses who the servers run as, their ports and their certificate.
func (s *Server) prepare() error {
	as, err := user.Current()
	if err == nil && as.Uid == "0" {
		as, err = user.Lookup("mail") // the servers refuse to handle the mail of root
	}
	if err != nil {
		return err
	}
	group, err := user.LookupGroupId(as.Gid)
	if err != nil {
		return err
	}
	s.owner, s.group = as.Username, group.Name
	s.uid, _ = strconv.Atoi(as.Uid)
	s.gid, _ = strconv.Atoi(as.Gid)
	for _, name := range []string{"", "run", "state", "spool", "log", "home"} {
		if err := s.mkdir(name); err != nil {
			return err
		}
	}
	for _, port := range []*int{&s.IMAP, &s.IMAPS, &s.SMTP, &s.SMTPS} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return s.certify()
}

// certify makes the servers' certificate.
func (s *Server) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	s.Roots = x509.NewCertPool()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	s.Roots.AddCert(cert)
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
		if err := os.Chown(path, s.uid, s.gid); err != nil {
			return err
		}
	}
	return nil
}

// run starts a process that ends with the tests, with all that it started.
func (s *Servers) run(server *Server, name string, args ...string) error {
	log, err := os.OpenFile(filepath.Join(server.dir, "log", "output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr, c.Dir = log, log, server.dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(server.uid), Gid: uint32(server.gid)}
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.stops = append(s.stops, func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) // Dovecot ends its own processes
		done := make(chan struct{})
		go func() { _ = c.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
		}
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	})
	return nil
}

// await waits until a server listens.
func (s *Server) await(port int) error {
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(filepath.Join(s.dir, "log", "output"))
			return fmt.Errorf("the mail server does not listen: %w: %s", err, said)
		}
		<-tick.C
	}
}

// serveTokens answers Dovecot's question whose token it was shown.
func (s *Servers) serveTokens() (port int, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	s.stops = append(s.stops, func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerToken(conn)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func answerToken(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return
	}
	for header := line; strings.TrimSpace(header) != ""; {
		if header, err = r.ReadString('\n'); err != nil {
			return
		}
	}
	_, query, _ := strings.Cut(line, "token=")
	token, _, _ := strings.Cut(query, " ")
	status, body := "401 Unauthorized", "{}"
	if name, ok := strings.CutPrefix(token, Token); ok {
		status, body = "200 OK", fmt.Sprintf(`{"user": %q}`, name)
	}
	fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, len(body), body)
}
