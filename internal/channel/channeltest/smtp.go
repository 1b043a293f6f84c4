// Package channeltest has the other side of channels, for tests: a mail server that
// takes mails in, and one with a mailbox. Law: they are real servers on this machine, and
// end with their test.
package channeltest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// SMTP is a mail server that takes mails in. Start it with NewSMTP.
type SMTP struct {
	TLS            *tls.Config // offered as STARTTLS; nil: not offered
	User, Password string      // of the login that is required; "": none is
	// Answer may answer a command in the server's place, which is given in upper case
	// ("MAIL", "RCPT", "DATA", "." for the end of a mail); "" leaves it to the server,
	// and "close" ends the connection.
	Answer func(command, line string) string

	listener net.Listener
	mu       sync.Mutex
	mails    []Mail
	conns    map[net.Conn]bool
}

// Mail is a mail that was taken in.
type Mail struct {
	From string
	To   []string
	Data string
}

// Start starts the server.
func (s *SMTP) Start(t testing.TB) *SMTP {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.conns = l, map[net.Conn]bool{}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		done.Wait()
	})
	return s
}

// Port is where the server listens, on 127.0.0.1.
func (s *SMTP) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Mails are those that were taken in.
func (s *SMTP) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

// peer is one connection.
type peer struct {
	conn   net.Conn
	reader *bufio.Reader
	mail   Mail
	logged bool
}

func (p *peer) say(line string) bool {
	_, err := fmt.Fprintf(p.conn, "%s\r\n", line)
	return err == nil
}

func (s *SMTP) serve(conn net.Conn) {
	s.mu.Lock()
	s.conns[conn] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		_ = conn.Close()
	}()
	p := &peer{conn: conn, reader: bufio.NewReader(conn)}
	p.say("220 test ESMTP")
	for {
		line, err := p.reader.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		command, _, _ := strings.Cut(strings.ToUpper(line), " ")
		if answer := s.answer(command, line); answer == "close" {
			return
		} else if answer != "" {
			p.say(answer)
			continue
		}
		if !s.obey(p, command, line) {
			return
		}
	}
}

func (s *SMTP) answer(command, line string) string {
	if s.Answer == nil {
		return ""
	}
	return s.Answer(command, line)
}

// obey does what a command says, and reports whether the connection goes on.
func (s *SMTP) obey(p *peer, command, line string) bool {
	_, secure := p.conn.(*tls.Conn)
	switch command {
	case "EHLO", "HELO":
		p.say("250-test")
		if s.TLS != nil && !secure {
			p.say("250-STARTTLS")
		}
		if s.User != "" {
			p.say("250-AUTH PLAIN")
		}
		return p.say("250 8BITMIME")
	case "STARTTLS":
		p.say("220 go on")
		over := tls.Server(p.conn, s.TLS)
		p.conn, p.reader = over, bufio.NewReader(over)
		return over.Handshake() == nil
	case "AUTH":
		given, _ := base64.StdEncoding.DecodeString(line[strings.LastIndexByte(line, ' ')+1:])
		if p.logged = string(given) == "\x00"+s.User+"\x00"+s.Password; !p.logged {
			return p.say("535 5.7.8 wrong password")
		}
		return p.say("235 welcome")
	case "MAIL":
		if s.User != "" && !p.logged {
			return p.say("530 5.7.0 log in first")
		}
		p.mail = Mail{From: address(line)}
		return p.say("250 ok")
	case "RCPT":
		p.mail.To = append(p.mail.To, address(line))
		return p.say("250 ok")
	case "DATA":
		return s.data(p)
	case "QUIT":
		p.say("221 bye")
		return false
	}
	return p.say("250 ok")
}

func (s *SMTP) data(p *peer) bool {
	p.say("354 end with a dot")
	var b strings.Builder
	for {
		line, err := p.reader.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
	p.mail.Data = b.String()
	switch answer := s.answer(".", ""); answer {
	case "":
	case "close":
		return false
	default:
		return p.say(answer)
	}
	s.mu.Lock()
	s.mails = append(s.mails, p.mail)
	s.mu.Unlock()
	return p.say("250 taken")
}

func address(line string) string {
	_, rest, _ := strings.Cut(line, "<")
	inside, _, _ := strings.Cut(rest, ">")
	return inside
}
