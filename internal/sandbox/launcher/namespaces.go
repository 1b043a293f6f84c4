//go:build linux

package launcher

import "encoding/binary"

// Namespaces are the namespaces of a run, and the users in them. They depend on
// little of the run, so that a helper can make them long before there is a run.
// The mount namespace is not among them: it is a copy of the present mounts, and
// must not be an old one.
type Namespaces struct {
	CloneFlags uint64
	UIDMap     string // "" unless there is a user namespace
	GIDMap     string
	Groups     bool // whether setgroups stays permitted in the namespace
	Loopback   bool // bring up the loopback of the network namespace, so that a test may talk to its own server
}

// Encode writes the namespaces as they are sent: the length, then numbers, and
// each of the maps after a length of its own.
func (n Namespaces) Encode() []byte {
	b := make([]byte, 8, 128)
	for _, v := range []uint64{n.CloneFlags, flag(n.Groups), flag(n.Loopback)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, text := range []string{n.UIDMap, n.GIDMap} {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	return b
}

func flag(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// parseNamespaces reads what Encode wrote, without its length.
func parseNamespaces(b []byte) (Namespaces, error) {
	r := reader{b: b}
	g := Namespaces{CloneFlags: r.number(), Groups: r.number() == 1, Loopback: r.number() == 1}
	g.UIDMap, g.GIDMap = r.text(), r.text()
	if r.bad || len(r.b) > 0 {
		return Namespaces{}, errBroken
	}
	return g, nil
}

// text reads a string after its length.
func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	text := string(r.b[:n])
	r.b = r.b[n:]
	return text
}

func receiveNamespaces() (Namespaces, error) {
	const most = 64 << 10
	n, err := receiveSize(most)
	if err != nil {
		return Namespaces{}, err
	}
	data := make([]byte, n)
	if err := readFull(ControlFD, data); err != nil {
		return Namespaces{}, err
	}
	return parseNamespaces(data)
}
