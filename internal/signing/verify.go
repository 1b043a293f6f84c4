package signing

import (
	"io"
	"time"

	"aead.dev/minisign"

	"callgate/tool"
)

// discard reads all there is.
func discard(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

// Reason is why a signature does not count.
type Reason string

// The reasons.
const (
	Unsigned  Reason = "unsigned"  // there is none
	Malformed Reason = "malformed" // it is no signature
	Untrusted Reason = "untrusted" // no trusted key has its number
	Changed   Reason = "changed"   // the bytes, or the comment, are not those that were signed
	Elsewhere Reason = "elsewhere" // it is of another file, or does not say of which
	Other     Reason = "program"   // the executable is not the one that was signed with it
	Older     Reason = "older"     // a newer one was accepted before
)

// Refusal is a signature that does not count.
type Refusal struct {
	Reason Reason
	Err    *tool.Error
}

// Error says what is wrong, and what to do.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the error with its kind.
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse makes a refusal.
func Refuse(reason Reason, hint, format string, args ...any) *Refusal {
	err := tool.Errorf("signing.Verify", tool.Denied, format, args...)
	err.Hint = hint
	return &Refusal{reason, err}
}

// Verified is a signature that counts.
type Verified struct {
	Key Key
	Comment
}

// Verify checks that one of the keys signed the bytes of a file with a name. The error is a *Refusal.
func Verify(file string, data, signature []byte, keys []Key) (Verified, error) {
	if len(signature) == 0 {
		return Verified{}, Refuse(Unsigned, "sign it: callgate sign "+file, "%s is not signed", quote(file))
	}
	var s minisign.Signature
	if len(signature) > MaxSignature {
		return Verified{}, Refuse(Malformed, "sign it again: callgate sign "+file,
			"the signature of %s has %d bytes", quote(file), len(signature))
	}
	if err := s.UnmarshalText(signature); err != nil {
		return Verified{}, Refuse(Malformed, "sign it again: callgate sign "+file,
			"what stands in %s is no signature", quote(file+Suffix))
	}
	key, known := signer(data, signature, s.KeyID, keys)
	switch {
	case !known:
		return Verified{}, Refuse(Untrusted, "if you know whose key that is: callgate keys trust NAME KEY",
			"%s is signed with the key %s, which you do not trust", quote(file), keyID(s.KeyID))
	case key == nil:
		return Verified{}, Refuse(Changed, "if the change is meant, have it signed again: callgate sign "+file,
			"%s is not what the key %s signed", quote(file), keyID(s.KeyID))
	}
	c, err := parseComment(s.TrustedComment)
	const again = "sign it again, with callgate sign or minisign -S without a comment of your own"
	switch {
	case err != nil:
		return Verified{}, Refuse(Malformed, again, "the signature of %s: %v", quote(file), err)
	case c.File == "" || c.Time.IsZero():
		return Verified{}, Refuse(Elsewhere, again, "the signature of %s does not say of which file it is, and of when",
			quote(file))
	case c.File != file:
		return Verified{}, Refuse(Elsewhere, again, "the signature beside %s is that of %s", quote(file), quote(c.File))
	}
	return Verified{*key, c}, nil
}

// Claimed is the time that a signature says it was made at, which nobody checked: by it signatures
// are put in order, and nothing is decided. Zero: it says none.
func Claimed(signature []byte) time.Time {
	var s minisign.Signature
	if len(signature) == 0 || len(signature) > MaxSignature || s.UnmarshalText(signature) != nil {
		return time.Time{}
	}
	c, err := parseComment(s.TrustedComment)
	if err != nil {
		return time.Time{}
	}
	return c.Time
}

// signer returns which of the keys signed the data; known: one of them has the number.
func signer(data, signature []byte, id uint64, keys []Key) (key *Key, known bool) {
	for _, k := range keys {
		if k.public.ID() != id {
			continue
		}
		known = true
		if minisign.Verify(k.public, data, signature) {
			return &k, true
		}
	}
	return nil, known
}

// CheckNewer refuses a signature that is older than one that was accepted before.
func (v Verified) CheckNewer(accepted time.Time) error {
	if v.Time.Before(accepted) {
		return Refuse(Older, "if going back is meant, have it signed again: callgate sign "+v.File,
			"%s was signed on %s, and a version that was signed on %s was accepted before", quote(v.File),
			v.Time.Format(time.DateTime), accepted.UTC().Format(time.DateTime))
	}
	return nil
}

func quote(name string) string { return tool.TruncateTo(name, 120) }
