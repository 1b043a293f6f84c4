//go:build linux

package launcher

import (
	"bytes"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"unsafe"
)

// sample is a program with one of everything.
func sample() *Program {
	p := &Program{Init: true, Remove: "/tmp/x", Memory: 1 << 40, Processes: 7}
	p.Step("do ", "this")
	p.CallKeep(3, 1, p.Text("a path"), Int(-100))
	data := p.Bytes([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	p.Put(3, data.Offset(8))
	p.Step("do that")
	p.CallIgnoreError(2, Slot(3), data)
	p.Fork = p.Calls()
	p.Call(59, p.Text("/bin/true"), p.Texts([]string{"true", ""}), p.Texts(nil))
	return p
}

func TestProgramTravels(t *testing.T) {
	p := sample()
	sent := p.Encode()
	got, err := parse(sent[8:])
	if err != nil {
		t.Fatal(err)
	}
	if got.Init != p.Init || got.Remove != p.Remove || got.Fork != p.Fork || got.Memory != p.Memory || got.Processes != p.Processes ||
		!reflect.DeepEqual(got.calls, p.calls) || !reflect.DeepEqual(got.links, p.links) || !bytes.Equal(got.arena, p.arena) {
		t.Errorf("sent %+v, came %+v", p, got)
	}
	if text := got.text(got.calls[0].step); text != "do this" {
		t.Errorf("the first step is %q", text)
	}
	if !newTestChild(t, 1<<16).load(got) {
		t.Error("it does not fit")
	}
	if newTestChild(t, int(unsafe.Sizeof(child{}))+8).load(got) {
		t.Error("it fits where it cannot")
	}
}

// newTestChild makes a child that is never started.
func newTestChild(t *testing.T, room int) *child {
	t.Helper()
	c, err := newChild(make([]byte, room), Namespaces{})
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range slices.Concat(c.ready[:], c.report[:]) {
		syscall.Close(fd)
	}
	return c
}

func TestNamespacesTravels(t *testing.T) {
	for _, g := range []Namespaces{{}, {CloneFlags: 1 << 30, UIDMap: "0 0 4294967295", GIDMap: "1 1 1\n5 5 1", Groups: true, Loopback: true}} {
		got, err := parseNamespaces(g.Encode()[8:])
		if err != nil || got != g {
			t.Errorf("sent %+v, came %+v, %v", g, got, err)
		}
	}
}

func FuzzParseGround(f *testing.F) {
	sent := Namespaces{CloneFlags: 1 << 30, UIDMap: "0 0 1", GIDMap: "1 1 1", Loopback: true}.Encode()[8:]
	f.Add(sent)
	f.Add(sent[:len(sent)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := parseNamespaces(data)
		if err != nil {
			return
		}
		if again, err := parseNamespaces(g.Encode()[8:]); err != nil || again != g {
			t.Errorf("%+v became %+v, %v", g, again, err)
		}
	})
}

// Whatever comes through the control socket, nothing points outside the arena.
func FuzzParse(f *testing.F) {
	sent := sample().Encode()[8:]
	f.Add(sent)
	f.Add(sent[:len(sent)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse(data)
		if err != nil {
			return
		}
		size := uint64(len(p.arena))
		for _, c := range p.calls {
			for _, a := range c.args {
				if a.kind == kindData && a.value >= size || a.kind == kindSlot && a.value >= Slots {
					t.Fatalf("an argument points outside: %+v", a)
				}
			}
			p.text(c.step)
		}
		newTestChild(t, 1<<16).load(p)
	})
}
