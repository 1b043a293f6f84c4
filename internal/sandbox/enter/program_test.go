//go:build linux

package enter

import (
	"bytes"
	"reflect"
	"syscall"
	"testing"
)

// sample is a program with one of everything.
func sample() *Program {
	p := &Program{CloneFlags: 1 << 30, UIDMap: "0 0 1", GIDMap: "1 1 1", Init: true, Remove: "/tmp/x", Memory: 1 << 40, Processes: 7}
	p.Step("do ", "this")
	p.Keep(3, 1, p.Text("a path"), Int(-100))
	data := p.Bytes([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	p.Put(3, data.Offset(8))
	p.Step("do that")
	p.Try(2, Slot(3), data)
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
	if got.UIDMap != p.UIDMap || got.Remove != p.Remove || got.Fork != p.Fork || got.Memory != p.Memory || !got.Init ||
		!reflect.DeepEqual(got.calls, p.calls) || !reflect.DeepEqual(got.links, p.links) || !bytes.Equal(got.arena, p.arena) {
		t.Errorf("sent %+v, came %+v", p, got)
	}
	if text := got.text(got.calls[0].step); text != "do this" {
		t.Errorf("the first step is %q", text)
	}
	if _, err := newChild(got); err != nil {
		t.Fatal(err)
	}
}

// Whatever comes down the leash, nothing points outside the arena.
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
		c, err := newChild(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range []int{c.gate[0], c.gate[1], c.report[0], c.report[1]} {
			syscall.Close(fd)
		}
	})
}
