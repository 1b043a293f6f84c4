//go:build linux

package netproxy

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
)

// at is the address of the proxy inside the namespace, for programs.
const at = "http://127.0.0.1:911"

// Add adds the steps that make the socket and send it through the socket that
// brought the standard files. The child must have a network namespace of its own: the
// socket listens at every address there, which are those of its loopback.
func Add(p *launcher.Program) {
	const slot, backlog, descriptor = 0, 128, 4
	p.Step("listen for the network's proxy")
	p.CallKeep(slot, unix.SYS_SOCKET,
		launcher.Int(unix.AF_INET), launcher.Int(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), launcher.Int(0))
	address := make([]byte, unix.SizeofSockaddrInet4) // struct sockaddr_in
	binary.NativeEndian.PutUint16(address, unix.AF_INET)
	binary.BigEndian.PutUint16(address[2:], Port)
	p.Call(unix.SYS_BIND, launcher.Slot(slot), p.Bytes(address), launcher.Int(len(address)))
	p.Call(unix.SYS_LISTEN, launcher.Slot(slot), launcher.Int(backlog))

	rights := p.Bytes(unix.UnixRights(0)) // the number of the descriptor is put into it
	p.Put(slot, rights.Offset(unix.CmsgLen(0)))
	buffer := p.Bytes(words(0, 1)) // struct iovec: one byte goes with it
	p.Link(buffer, p.Bytes(make([]byte, 1)))
	message := p.Bytes(words(0, 0, 0, 1, 0, uint64(unix.CmsgSpace(descriptor)), 0)) // struct msghdr
	p.Link(message.Offset(16), buffer)
	p.Link(message.Offset(32), rights)
	p.Call(unix.SYS_SENDMSG, launcher.Int(launcher.FilesFD), message, launcher.Int(unix.MSG_NOSIGNAL))
	p.Call(unix.SYS_CLOSE, launcher.Slot(slot))
}

// words lays out numbers of eight bytes.
func words(list ...uint64) []byte {
	var b []byte
	for _, v := range list {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// The variables that name a proxy to programs, and those that name exceptions.
var (
	proxies    = []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
	npm        = []string{"npm_config_proxy", "npm_config_https_proxy"}
	exceptions = []string{"no_proxy", "NO_PROXY", "npm_config_noproxy"}
)

// Environ returns an environment with the proxy in it, in place of any other.
func Environ(env []string) []string {
	named := slices.Concat(proxies, npm)
	out := make([]string, 0, len(env)+len(named)+len(exceptions))
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains(named, name) && !slices.Contains(exceptions, name) {
			out = append(out, pair)
		}
	}
	for _, name := range named {
		out = append(out, name+"="+at)
	}
	for _, name := range exceptions {
		out = append(out, name+"=")
	}
	return out
}
