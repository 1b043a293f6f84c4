//go:build linux

package launcher

import "encoding/binary"

// Namespaces is what a run stands on: the namespaces of the child, and who is who
// in them. It depends on little of the run, so that a helper can be told it,
// and make it, long before there is a run. The mount namespace is not among
// them: it is a copy of the mounts there are, and must not be an old one.
type Namespaces struct {
	CloneFlags uint64
	UIDMap     string // "" unless there is a user namespace
	GIDMap     string
	Groups     bool // whether setgroups stays permitted in the namespace
	Loopback   bool // bring up that of its network namespace, so that a test may talk to its own server
}

// Encode writes the ground as it travels: its length, then numbers, and each
// of the maps after a length of its own.
func (g Namespaces) Encode() []byte {
	b := make([]byte, 8, 128)
	for _, v := range []uint64{g.CloneFlags, flag(g.Groups), flag(g.Loopback)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, text := range []string{g.UIDMap, g.GIDMap} {
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

// parseGround reads what Encode wrote, without its length.
func parseGround(b []byte) (Namespaces, error) {
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

func receiveGround() (Namespaces, error) {
	const most = 64 << 10
	n, err := receiveSize(most)
	if err != nil {
		return Namespaces{}, err
	}
	data := make([]byte, n)
	if err := readFull(ControlFD, data); err != nil {
		return Namespaces{}, err
	}
	return parseGround(data)
}
