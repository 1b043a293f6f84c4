package moving

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"time"

	"callgate/internal/artifact"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

// blobs is the name of the store of blobs in a report.
const blobs = "blobs"

// blobPage is how many blobs are listed at a time.
const blobPage = 200

// eachPage visits the blobs of a store, some at a time.
func eachPage(ctx context.Context, store artifact.Blobs, visit func([]artifact.Blob) error) error {
	for after := ""; ; {
		list, err := store.List(ctx, after, blobPage)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := visit(list); err != nil {
			return err
		}
		after = list[len(list)-1].Ref
	}
}

// copyBlobs puts every blob into the target that it does not have.
func (c *Copy) copyBlobs(ctx context.Context) error {
	there := map[string]int64{}
	err := eachPage(ctx, c.To.Blobs, func(list []artifact.Blob) error {
		for _, b := range list {
			there[b.Ref] = b.Size
		}
		return nil
	})
	if err != nil {
		return err
	}
	var done int64
	return eachPage(ctx, c.From.Blobs, func(list []artifact.Blob) error {
		for _, b := range list {
			if size, ok := there[b.Ref]; !ok || size != b.Size {
				if err := c.copyBlob(ctx, b); err != nil {
					return err
				}
			}
			done++
			c.tell(blobs, done)
		}
		if times, ok := c.To.Tables.(tables.BlobTimes); ok {
			return times.SetStored(ctx, list)
		}
		return nil
	})
}

func (c *Copy) copyBlob(ctx context.Context, b artifact.Blob) error {
	content, err := c.From.Blobs.Open(ctx, b.Ref)
	if err != nil {
		return err
	}
	defer content.Close()
	return c.To.Blobs.Put(ctx, b.Ref, b.Size, content)
}

// compareBlobs reads every blob of the source back from the target.
func (c *Copy) compareBlobs(ctx context.Context) (Line, error) {
	times := map[string]time.Time{}
	err := eachPage(ctx, c.To.Blobs, func(list []artifact.Blob) error {
		for _, b := range list {
			times[b.Ref] = b.Stored
		}
		return nil
	})
	if err != nil {
		return Line{}, err
	}
	line, all := Line{Store: blobs}, sha256.New()
	err = eachPage(ctx, c.From.Blobs, func(list []artifact.Blob) error {
		for _, b := range list {
			if stored := times[b.Ref]; stored.Before(b.Stored) {
				return tool.Errorf("moving.Compare", tool.Internal, "%s was stored at %s, and at %s in the target",
					b.Ref, b.Stored, stored)
			}
			sum, err := c.compareBlob(ctx, b)
			if err != nil {
				return err
			}
			_, _ = io.WriteString(all, b.Ref+" "+sum+"\n")
			line.Rows++
			line.Bytes += b.Size
			c.tell(blobs, line.Rows)
		}
		return nil
	})
	line.Digest = hex.EncodeToString(all.Sum(nil))
	return line, err
}

// compareBlob returns the hash of a blob's bytes in the target. Where that is not the one by which the blob is named,
// the source must be damaged in the same way.
func (c *Copy) compareBlob(ctx context.Context, b artifact.Blob) (string, error) {
	sum, err := hashBlob(ctx, c.To.Blobs, b.Ref)
	if err != nil || "sha256:"+sum == b.Ref {
		return sum, err
	}
	source, err := hashBlob(ctx, c.From.Blobs, b.Ref)
	if err == nil && source != sum {
		err = tool.Errorf("moving.Compare", tool.Internal, "%s has other bytes in the target", b.Ref)
	}
	return sum, err
}

func hashBlob(ctx context.Context, store artifact.Blobs, ref string) (string, error) {
	content, err := store.Open(ctx, ref)
	if err != nil {
		return "", err
	}
	defer content.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
