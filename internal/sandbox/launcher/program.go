//go:build linux

package launcher

import (
	"encoding/binary"
	"errors"
)

// Program is what the child of the helper does, in order, before it runs the
// command, and what the helper must know to supervise it. A call that fails ends
// the run, unless its error is ignored.
type Program struct {
	Init      bool   // the child must be the init of a process namespace; otherwise it must not
	Remove    string // a folder to remove at the end
	Memory    uint64 // bytes that the whole run may hold; 0: no limit
	Processes uint64 // processes and threads at one time; 0: no limit
	Fork      int    // the calls from here on are made by the command's own process

	calls []call
	links []link
	arena []byte
	step  uint64 // the name of the current step, in the arena
}

// call is one system call with its arguments laid out.
type call struct {
	nr   uint64
	args [6]Arg
	step uint64 // its name, for an error
	keep uint64 // 1 + the slot that keeps its result
	try  uint64 // 1: an error is ignored
}

// link is a pointer inside the arena, to be written when its address is known.
type link struct{ at, to uint64 }

// Arg is an argument of a system call.
type Arg struct{ kind, value uint64 }

const (
	kindInt  = iota // the value itself
	kindData        // the address of the value's place in the arena
	kindSlot        // what an earlier call returned
)

// put is the number of the one call that is not a system call: it writes the
// low four bytes of a slot into the arena.
const put = 1<<63 - 1

// Slots is the number of results that a program can keep.
const Slots = 8

// Int is a plain number.
func Int[T ~int | ~uint64 | ~uintptr | ~int32 | ~uint32](v T) Arg { return Arg{kindInt, uint64(v)} }

// Slot is the result that a call kept there.
func Slot(n int) Arg { return Arg{kindSlot, uint64(n)} }

// Offset is an address within a.
func (a Arg) Offset(n int) Arg { return Arg{a.kind, a.value + uint64(n)} }

// Bytes lays out data that a call points to.
func (p *Program) Bytes(data []byte) Arg {
	for len(p.arena)%8 != 0 {
		p.arena = append(p.arena, 0)
	}
	at := len(p.arena)
	p.arena = append(p.arena, data...)
	return Arg{kindData, uint64(at)}
}

// Text lays out a string, ended as C wants it.
func (p *Program) Text(s string) Arg {
	at := len(p.arena)
	p.arena = append(append(p.arena, s...), 0)
	return Arg{kindData, uint64(at)}
}

// Texts lays out a list of strings, as execve takes them.
func (p *Program) Texts(list []string) Arg {
	places := make([]Arg, len(list))
	for i, s := range list {
		places[i] = p.Text(s)
	}
	table := p.Bytes(make([]byte, 8*(len(list)+1)))
	for i, place := range places {
		p.Link(table.Offset(8*i), place)
	}
	return table
}

// Link writes the address of one place into another.
func (p *Program) Link(at, to Arg) { p.links = append(p.links, link{at.value, to.value}) }

// Step names what the calls that follow are for, to end "the sandbox could not …".
func (p *Program) Step(what ...string) {
	if p.arena == nil {
		const usual = 16 << 10
		p.arena = make([]byte, 0, usual)
	}
	p.step = uint64(len(p.arena))
	for _, w := range what {
		p.arena = append(p.arena, w...)
	}
	p.arena = append(p.arena, 0)
}

// Call adds a system call.
func (p *Program) Call(nr int, args ...Arg) { p.add(uint64(nr), 0, 0, args) }

// CallIgnoreError adds a system call whose error is ignored.
func (p *Program) CallIgnoreError(nr int, args ...Arg) { p.add(uint64(nr), 0, 1, args) }

// CallKeep adds a system call whose result is kept.
func (p *Program) CallKeep(slot int, nr int, args ...Arg) { p.add(uint64(nr), uint64(slot)+1, 0, args) }

// Put writes a slot into data, as a 32-bit number.
func (p *Program) Put(slot int, at Arg) { p.add(put, 0, 0, []Arg{Slot(slot), at}) }

// Calls is the number of calls so far.
func (p *Program) Calls() int { return len(p.calls) }

func (p *Program) add(nr, keep, try uint64, args []Arg) {
	if p.calls == nil {
		const usual = 256
		p.calls = make([]call, 0, usual)
	}
	c := call{nr: nr, step: p.step, keep: keep, try: try}
	copy(c.args[:], args)
	p.calls = append(p.calls, c)
}

// Encode writes the program as it is sent: its length, then numbers, and after
// them the arena. Every number has eight bytes, so that it is read quickly.
func (p *Program) Encode() []byte {
	remove := p.Text(p.Remove)
	b := make([]byte, 8, 64+8*callWords*len(p.calls)+8*linkWords*len(p.links)+len(p.arena))
	number := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	for _, v := range []uint64{
		flag(p.Init), remove.value, p.Memory, p.Processes, uint64(p.Fork), uint64(len(p.calls)), uint64(len(p.links)),
	} {
		number(v)
	}
	for i := range p.calls {
		c := &p.calls[i]
		how := c.keep | c.try<<8
		for j, a := range c.args {
			how |= a.kind << (16 + 8*j)
		}
		number(c.nr)
		number(c.step)
		number(how)
		for _, a := range c.args {
			number(a.value)
		}
	}
	for _, l := range p.links {
		number(l.at)
		number(l.to)
	}
	b = append(b, p.arena...)
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	return b
}

// The numbers of a call and of a link.
const (
	callWords = 9
	linkWords = 2
)

var errBroken = errors.New("the program is broken")

// parse reads what Encode wrote, without its length. It accepts nothing whose
// addresses lie outside the arena.
func parse(b []byte) (*Program, error) {
	r := reader{b: b}
	init, remove := r.number() == 1, r.number()
	p := &Program{Init: init, Memory: r.number(), Processes: r.number(), Fork: int(r.number())}
	calls, links := r.number(), r.number()
	if r.bad || calls > uint64(len(b)/(8*callWords)) || links > uint64(len(b)/(8*linkWords)) {
		return nil, errBroken
	}
	p.calls, p.links = make([]call, calls), make([]link, links)
	for i := range p.calls {
		c := &p.calls[i]
		c.nr, c.step = r.number(), r.number()
		how := r.number()
		c.keep, c.try = how&0xff, how>>8&0xff
		for j := range c.args {
			c.args[j] = Arg{how >> (16 + 8*j) & 0xff, r.number()}
		}
	}
	for i := range p.links {
		p.links[i] = link{r.number(), r.number()}
	}
	p.arena = r.b
	if r.bad || !p.sound(uint64(len(p.arena))) {
		return nil, errBroken
	}
	if len(p.arena) == 0 || p.arena[len(p.arena)-1] != 0 || remove >= uint64(len(p.arena)) {
		return nil, errBroken
	}
	p.Remove = p.text(remove)
	return p, nil
}

// sound reports whether everything points into an arena of that size.
func (p *Program) sound(size uint64) bool {
	ok := 0 <= p.Fork && p.Fork <= len(p.calls)
	for i := range p.calls {
		c := &p.calls[i]
		ok = ok && c.step < size && c.keep <= Slots
		for _, a := range c.args {
			switch a.kind {
			case kindInt:
			case kindData:
				ok = ok && a.value < size
			case kindSlot:
				ok = ok && a.value < Slots
			default:
				ok = false
			}
		}
		if c.nr == put {
			at := c.args[1]
			ok = ok && c.args[0].kind == kindSlot && at.kind == kindData && at.value%4 == 0 && at.value+4 <= size
		}
	}
	for _, l := range p.links {
		ok = ok && l.to < size && l.at < size && l.at+8 <= size && l.at%8 == 0
	}
	return ok
}

// text reads the string at a place of the arena.
func (p *Program) text(at uint64) string {
	for end := at; end < uint64(len(p.arena)); end++ {
		if p.arena[end] == 0 {
			return string(p.arena[at:end])
		}
	}
	return ""
}

// reader reads numbers of eight bytes.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	if len(r.b) < 8 {
		r.bad = true
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}
