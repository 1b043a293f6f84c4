package postgres

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/artifact"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// blobPart is how many bytes of a blob one row has: as much of it is in memory at a time.
const blobPart = 512 << 10

// blobStore is artifact.Blobs on PostgreSQL.
//
// A blob is named by its content, so nodes share it. blob_owners has who put it and when: that is what a node lists and
// deletes, and the bytes go with the last of them. Who notes an owner holds the blob, and who deletes waits for that.
type blobStore struct{ db *pgnode.DB }

var _ artifact.Blobs = (*blobStore)(nil)

// Put keeps the bytes in one transaction, unless they are there.
func (s *blobStore) Put(ctx context.Context, ref string, size int64, content io.Reader) error {
	const op = "postgres.Put"
	if err := artifact.Check(ref); err != nil {
		return err
	}
	var there bool
	err := s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		n, err := t.Exec(ctx, ownBlob, s.db.NodeID(), ref, size)
		there = n == 1
		return err
	})
	if err != nil || there {
		return pgnode.ConvertError(op, err)
	}
	source := &blobSource{reader: content, size: size}
	limit := pgnode.Patience * time.Duration(1+size>>24)
	return pgnode.ConvertError(op, s.db.TransactWithin(ctx, limit, func(ctx context.Context, t *pgnode.Tx) error {
		if err := source.rewind(); err != nil {
			return err
		}
		return putBlob(ctx, t, s.db.NodeID(), ref, source)
	}))
}

// ownBlob notes that a node has a blob, if the blob is there.
const ownBlob = "INSERT INTO blob_owners (node, ref, stored) SELECT $1, ref, clock_timestamp() " +
	"FROM (SELECT ref FROM blobs WHERE ref = $2 AND size = $3 FOR KEY SHARE) AS there " +
	"ON CONFLICT (node, ref) DO UPDATE SET stored = excluded.stored"

// putBlob writes parts under a new number, and then has the blob name it, unless somebody else was faster.
func putBlob(ctx context.Context, t *pgnode.Tx, node, ref string, source *blobSource) error {
	number, err := pgnode.QueryOneTx(ctx, t, pgx.RowTo[int64], "SELECT nextval('blob_contents')")
	if err != nil {
		return err
	}
	for num := 0; ; num++ {
		part, err := source.next()
		if err != nil {
			return err
		}
		if len(part) == 0 {
			break
		}
		const insert = "INSERT INTO blob_parts (content, num, data) VALUES ($1, $2, $3)"
		if _, err := t.Exec(ctx, insert, number, num, part); err != nil {
			return err
		}
	}
	const (
		// A blob of another size is damaged, and is replaced.
		damaged = "DELETE FROM blob_parts WHERE content = " +
			"(SELECT content FROM blobs WHERE ref = $1 AND size <> $2 FOR UPDATE)"
		put = "INSERT INTO blobs (ref, size, content) VALUES ($1, $2, $3) " +
			"ON CONFLICT (ref) DO UPDATE SET size = excluded.size, " +
			"content = CASE WHEN blobs.size = excluded.size THEN blobs.content ELSE excluded.content END"
		unused = "DELETE FROM blob_parts WHERE content = $2 AND NOT EXISTS " +
			"(SELECT FROM blobs WHERE ref = $1 AND content = $2)"
	)
	var batch pgx.Batch
	batch.Queue(damaged, ref, source.size)
	batch.Queue(put, ref, source.size, number)
	batch.Queue(ownBlob, node, ref, source.size)
	batch.Queue(unused, ref, number)
	_, err = t.ExecAll(ctx, &batch)
	return err
}

// blobSource reads the bytes of a blob in parts, and once more if the connection was lost and the source allows it.
type blobSource struct {
	reader io.Reader
	size   int64 // that was announced
	buffer []byte

	begun bool
	start int64 // where a source that can be rewound began
	read  int64
}

// rewind begins with the first part.
func (s *blobSource) rewind() error {
	seeker, ok := s.reader.(io.Seeker)
	switch {
	case !s.begun && ok:
		start, err := seeker.Seek(0, io.SeekCurrent)
		if err != nil {
			s.reader = struct{ io.Reader }{s.reader} // a pipe says that it can be rewound, and cannot
		}
		s.start = start
	case s.begun && !ok:
		return tool.Errorf("postgres.Put", tool.Unavailable, "the connection to the database server was lost").
			WithHint("try again")
	case s.begun:
		if _, err := seeker.Seek(s.start, io.SeekStart); err != nil {
			return sourceError(err)
		}
	}
	s.begun, s.read = true, 0
	return nil
}

// next returns the next part, which is empty at the end. The end must be where it was announced.
func (s *blobSource) next() ([]byte, error) {
	if s.buffer == nil {
		s.buffer = make([]byte, min(blobPart, max(s.size+1, 1)))
	}
	n, err := io.ReadFull(s.reader, s.buffer)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, sourceError(err)
	}
	s.read += int64(n)
	if s.read > s.size || err != nil && s.read < s.size {
		return nil, tool.Errorf("postgres.Put", tool.Invalid,
			"%d bytes came to be stored, and %d were announced", s.read, s.size)
	}
	return s.buffer[:n], nil
}

func sourceError(err error) error {
	kind := tool.Failed
	switch {
	case errors.Is(err, context.Canceled):
		kind = tool.Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		kind = tool.Timeout
	}
	return &tool.Error{Op: "postgres.Put", Kind: kind, Message: "what was to be stored could not be read", Err: err}
}

// Open finds the bytes, which are read part by part.
func (s *blobStore) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	const op = "postgres.Open"
	if err := artifact.Check(ref); err != nil {
		return nil, err
	}
	r, err := pgnode.QueryOne(ctx, s.db, func(row pgx.CollectableRow) (*blobReader, error) {
		r := &blobReader{ctx: ctx, db: s.db, ref: ref}
		err := row.Scan(&r.content, &r.left)
		return r, err
	}, "SELECT content, size FROM blobs WHERE ref = $1", ref)
	switch {
	case pgnode.Absent(err):
		return nil, noBlob(ref)
	case err != nil:
		return nil, pgnode.ConvertError(op, err)
	}
	return r, nil
}

func noBlob(ref string) error {
	return tool.Errorf("postgres.Open", tool.NotFound, "there is no artifact %s", ref).
		WithHint("it may have been deleted as unused; run the call again")
}

// blobReader reads the parts of a blob. It holds no connection between two of them.
type blobReader struct {
	ctx     context.Context // of Open: a reader has no other
	db      *pgnode.DB
	ref     string
	content int64
	left    int64 // bytes that are not fetched
	num     int
	part    []byte
}

// Read fetches the next part when the last one is read.
func (r *blobReader) Read(p []byte) (int, error) {
	if len(r.part) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		const next = "SELECT data FROM blob_parts WHERE content = $1 AND num = $2"
		part, err := pgnode.QueryOne(r.ctx, r.db, pgx.RowTo[[]byte], next, r.content, r.num)
		if pgnode.Absent(err) || err == nil && (len(part) == 0 || int64(len(part)) > r.left) {
			err = noBlob(r.ref) // deleted meanwhile, or damaged
		}
		if err != nil {
			return 0, pgnode.ConvertError("postgres.Read", err)
		}
		r.part = part
		r.num++
		r.left -= int64(len(part))
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}

// Close ends the reader.
func (r *blobReader) Close() error {
	r.part, r.left = nil, 0
	return nil
}

const listBlobs = "SELECT o.ref, b.size, o.stored FROM blob_owners AS o JOIN blobs AS b ON b.ref = o.ref " +
	"WHERE o.node = $1 AND o.ref > $2 ORDER BY o.ref LIMIT $3"

// List selects by the primary key.
func (s *blobStore) List(ctx context.Context, after string, limit int) ([]artifact.Blob, error) {
	list, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (b artifact.Blob, err error) {
		err = row.Scan(&b.Ref, &b.Size, &b.Stored)
		return b, err
	}, listBlobs, s.db.NodeID(), after, limit)
	return list, pgnode.ConvertError("postgres.List", err)
}

// Delete removes the node's note of a blob unless it was stored again meanwhile, and the blob if nobody else has it.
func (s *blobStore) Delete(ctx context.Context, ref string, storedBefore time.Time) (gone bool, err error) {
	if err := artifact.Check(ref); err != nil {
		return false, err
	}
	err = s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		const (
			hold   = "SELECT FROM blobs WHERE ref = $1 FOR UPDATE" // who notes an owner now is waited for
			disown = "DELETE FROM blob_owners WHERE node = $1 AND ref = $2 AND stored < $3"
			parts  = "DELETE FROM blob_parts WHERE content = (SELECT content FROM blobs WHERE ref = $1) " + unowned
			remove = "DELETE FROM blobs WHERE ref = $1 " + unowned
		)
		var batch pgx.Batch
		batch.Queue(hold, ref)
		batch.Queue(disown, s.db.NodeID(), ref, storedBefore)
		batch.Queue(parts, ref)
		batch.Queue(remove, ref)
		counts, err := t.ExecAll(ctx, &batch)
		gone = err == nil && counts[1] == 1
		return err
	})
	return gone && err == nil, pgnode.ConvertError("postgres.Delete", err)
}

const unowned = "AND NOT EXISTS (SELECT FROM blob_owners WHERE ref = $1)"
