package known

import (
	"encoding/binary"
	"errors"
	"sort"
	"strings"
	"sync"
	"unsafe"
	"weak"

	"github.com/klauspost/compress/zstd"

	"callgate/tool"
)

// The file:
//
//	header   magic, number of tools, number of blocks
//	entries  name[4] block[2] index[2] sketch[32], in the order of names
//	ends     the end of each block, counted from the first block
//	blocks   zstd: the requests of tools
//
// Numbers are little-endian; those without a size have four bytes.
const (
	Magic      = "callgate known requests 1\n"
	headerSize = len(Magic) + 8
	entrySize  = 8 + 2*sketched
	// MaxBlock limits a block when it is decompressed.
	MaxBlock = 1 << 20

	toolEnd    = "\x00"
	requestEnd = "\n"
)

var errDamaged = errors.New("the file is damaged")

// Table is an opened file. It is safe for concurrent use.
type Table struct {
	entries []byte
	blocks  []block
}

// block is a part of the requests. What was decompressed is kept until the next garbage
// collection.
type block struct {
	packed []byte
	mu     sync.Mutex
	tools  weak.Pointer[[]string]
}

// Open checks a file and returns its table, which shares the file's memory.
func Open(data []byte) (*Table, error) {
	const op = "known.Open"
	damaged := tool.Errorf(op, tool.Invalid, "the known requests cannot be read: %w", errDamaged)
	if len(data) < headerSize || string(data[:len(Magic)]) != Magic {
		return nil, damaged
	}
	tools := uint64(binary.LittleEndian.Uint32(data[len(Magic):]))
	blocks := uint64(binary.LittleEndian.Uint32(data[len(Magic)+4:]))
	data = data[headerSize:]
	if tools*uint64(entrySize)+blocks*4 > uint64(len(data)) {
		return nil, damaged
	}
	t := &Table{entries: data[:tools*uint64(entrySize)], blocks: make([]block, blocks)}
	ends := data[tools*uint64(entrySize):]
	content := ends[blocks*4:]
	from := uint32(0)
	for i := range t.blocks {
		end := binary.LittleEndian.Uint32(ends[4*i:])
		if end < from || uint64(end) > uint64(len(content)) {
			return nil, damaged
		}
		t.blocks[i].packed, from = content[from:end:end], end
	}
	return t, nil
}

// Len is the number of tools.
func (t *Table) Len() int { return len(t.entries) / entrySize }

// firstOf is the first entry with a name, or the place where it would be.
func (t *Table) firstOf(name uint32) int {
	return sort.Search(t.Len(), func(i int) bool { return t.entry(i).name() >= name })
}

type entry []byte

func (t *Table) entry(i int) entry { return t.entries[i*entrySize : (i+1)*entrySize] }

func (e entry) name() uint32 { return binary.LittleEndian.Uint32(e) }
func (e entry) block() int   { return int(binary.LittleEndian.Uint16(e[4:])) }
func (e entry) index() int   { return int(binary.LittleEndian.Uint16(e[6:])) }

func (e entry) sketch() (s Sketch) {
	for i := range s {
		s[i] = binary.LittleEndian.Uint16(e[8+2*i:])
	}
	return s
}

// Entry appends an entry to the table of a file.
func Entry(to []byte, name uint32, block, index int, s Sketch) []byte {
	to = binary.LittleEndian.AppendUint32(to, name)
	to = binary.LittleEndian.AppendUint16(to, uint16(block))
	to = binary.LittleEndian.AppendUint16(to, uint16(index))
	for _, h := range s {
		to = binary.LittleEndian.AppendUint16(to, h)
	}
	return to
}

// requests returns those of a tool of a block; none, if there is no such tool or it is damaged.
func (t *Table) requests(block, index int) []string {
	if block >= len(t.blocks) {
		return nil
	}
	tools := t.blocks[block].open()
	if index >= len(tools) || tools[index] == "" {
		return nil
	}
	return strings.Split(tools[index], requestEnd)
}

// open returns the requests of each tool of a block.
func (b *block) open() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if tools := b.tools.Value(); tools != nil {
		return *tools
	}
	tools := strings.Split(unpack(b.packed), toolEnd)
	b.tools = weak.Make(&tools)
	return tools
}

// unpack decompresses a block. The decoder is not kept: there are few blocks.
func unpack(packed []byte) string {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlock))
	if err != nil {
		return ""
	}
	defer d.Close()
	text, err := d.DecodeAll(packed, nil)
	if err != nil {
		return ""
	}
	return unsafe.String(unsafe.SliceData(text), len(text)) // nothing else holds the bytes
}
