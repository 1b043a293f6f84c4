package locks

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// maxPath is the longest path in bytes: an index of PostgreSQL takes no more than about 2,600.
const maxPath = 2000

// token names a request.
type token [16]byte

// request is what lock_acquire is told.
type request struct {
	token   token
	claims  []tool.Claim
	holder  []byte
	wait    time.Duration
	asked   time.Time
	latches latches
	wake    chan struct{} // has one place: something was released

	// kept is set when the database has something of the request.
	kept bool
	// unsure is set when an answer was lost: the database may hear of the request later.
	unsure bool

	paths, resources     [][]byte
	modes                []int16
	points, lows, highs  [][]byte
	pointModes, rowModes []int16
}

func newRequest(r lock.Request) (*request, error) {
	holder, err := json.Marshal(r.Holder)
	if err != nil {
		return nil, &tool.Error{Op: opAcquire, Kind: tool.Invalid, Message: "the holder cannot be written", Err: err}
	}
	q := &request{
		claims: r.Claims, holder: holder, wait: r.Wait, asked: time.Now(), wake: make(chan struct{}, 1),
	}
	_, _ = rand.Read(q.token[:]) // it never fails
	kept := make([]tool.Claim, len(r.Claims))
	for i, c := range r.Claims {
		if kept[i], err = shorten(c); err != nil {
			return nil, err
		}
		path := lock.Path(kept[i].Resource)
		q.latches = q.latches.add(path)
		q.paths = append(q.paths, []byte(path))
		q.resources = append(q.resources, []byte(c.Resource))
		q.modes = append(q.modes, int16(kept[i].Mode))
	}
	for _, p := range lock.Probes(kept) {
		path := []byte(p.Path)
		if !p.Below {
			q.points, q.pointModes = append(q.points, path), append(q.pointModes, int16(p.Modes))
			continue
		}
		high := slices.Clone(path)
		high[len(high)-1]++ // after everything that begins with path
		q.lows, q.highs, q.rowModes = append(q.lows, path), append(q.highs, high), append(q.rowModes, int16(p.Modes))
	}
	q.latches = q.latches.sorted()
	return q, nil
}

// wanted is the claim that another one blocks.
func (q *request) wanted(by lock.Blocker) tool.Claim {
	if c, found := lock.Conflict(q.claims, tool.Claim{Resource: by.Resource, Mode: by.Mode}); found {
		return c
	}
	return q.claims[0] // they meet only where both were shortened
}

// shorten claims more than c does, if its path is too long for the database: what is above it, in a mode that excludes
// whatever c excludes.
func shorten(c tool.Claim) (tool.Claim, error) {
	path := lock.Path(c.Resource)
	if len(path) <= maxPath {
		return c, nil
	}
	end := strings.LastIndexByte(path[:maxPath], '/') + 1
	if kind := strings.IndexByte(path, ':') + 1; kind > maxPath {
		return c, tool.Errorf(opAcquire, tool.Invalid, "the kind of the resource %.80q is too long", c.Resource)
	} else if end < kind {
		end = kind
	}
	c.Resource = path[:end]
	if c.Mode.Writes() { // not U or IX: what reads beside them below does not pass them there
		c.Mode = tool.X
	} else {
		c.Mode = tool.S
	}
	return c, nil
}

// latch is an advisory lock of the database.
type latch struct {
	key   int64
	whole bool // nobody shares it
}

// latches are those of a request, each once, in the order in which everybody takes them.
type latches []latch

// add adds the latches of a path.
func (l latches) add(path string) latches {
	kind := strings.IndexByte(path, ':') + 1
	if kind == len(path) {
		return append(l, latch{latchKey(path), true})
	}
	first := kind + strings.IndexByte(path[kind:], '/') + 1
	return append(l, latch{latchKey(path[:kind]), false}, latch{latchKey(path[:first]), true})
}

func latchKey(path string) int64 {
	sum := sha256.Sum256([]byte("callgate lock " + path))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

func (l latches) sorted() latches {
	slices.SortFunc(l, func(a, b latch) int {
		switch {
		case a.key != b.key:
			return cmp.Compare(a.key, b.key)
		case a.whole == b.whole:
			return 0
		case a.whole:
			return -1
		}
		return 1
	})
	return slices.CompactFunc(l, func(a, b latch) bool { return a.key == b.key })
}

// columns are the latches as two arguments.
func (l latches) columns() (keys []int64, whole []bool) {
	keys, whole = make([]int64, len(l)), make([]bool, len(l))
	for i, one := range l {
		keys[i], whole[i] = one.key, one.whole
	}
	return keys, whole
}
