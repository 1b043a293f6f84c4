package tool

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// ID is a tool's identity, written namespace:name@major.minor.patch.
// A namespace may be dotted (choir.fs); a name may not, so the dotted form
// splits again at its last dot. The zero ID is not valid.
type ID struct {
	Namespace string
	Name      string
	Version   Version
}

// Version is the numeric core of a semantic version.
type Version struct{ Major, Minor, Patch uint64 }

var (
	namespaceForm = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	nameForm      = regexp.MustCompile(`^[a-z0-9_-]+$`)
	versionForm   = regexp.MustCompile(`^(0|[1-9][0-9]*)(?:\.(0|[1-9][0-9]*))?(?:\.(0|[1-9][0-9]*))?$`)
)

// maxPart bounds each part of an ID, so that a hostile name cannot grow without limit.
const maxPart = 256

// ParseVersion reads a version; missing parts are zero, so "1.0" is 1.0.0.
func ParseVersion(s string) (Version, error) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return Version{}, Errorf("tool.ParseVersion", Invalid, "version %q is not of the form 1.2.3", Truncate(s))
	}
	var parts [3]uint64
	for i, text := range m[1:] {
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return Version{}, Errorf("tool.ParseVersion", Invalid, "version %q has a part that is too large", Truncate(s))
		}
		parts[i] = n
	}
	return Version{parts[0], parts[1], parts[2]}, nil
}

// String writes the version with all three parts.
func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Compare orders versions by precedence: negative when v is older than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// NewID makes an ID from its parts, each validated on its own so that the
// error names the part that is wrong.
func NewID(namespace, name, version string) (ID, error) {
	const op = "tool.NewID"
	if len(namespace) > maxPart || !namespaceForm.MatchString(namespace) {
		return ID{}, Errorf(op, Invalid,
			"namespace %q must be lower-case letters, digits, _ and -, with single dots between parts", Truncate(namespace))
	}
	if len(name) > maxPart || !nameForm.MatchString(name) {
		return ID{}, Errorf(op, Invalid, "name %q must be lower-case letters, digits, _ and -", Truncate(name))
	}
	v, err := ParseVersion(version)
	if err != nil {
		return ID{}, err
	}
	return ID{namespace, name, v}, nil
}

// ParseID reads namespace:name@version.
func ParseID(s string) (ID, error) {
	namespace, rest, ok := strings.Cut(s, ":")
	name, version, ok2 := strings.Cut(rest, "@")
	if !ok || !ok2 {
		return ID{}, Errorf("tool.ParseID", Invalid, "tool id %q is not of the form namespace:name@1.2.3", Truncate(s))
	}
	return NewID(namespace, name, version)
}

// TryParseID is ParseID for callers to whom a bad id is an ordinary answer.
func TryParseID(s string) (ID, bool) {
	id, err := ParseID(s)
	return id, err == nil
}

// ParseDotted splits a dotted name at its last dot and validates both parts.
func ParseDotted(s string) (namespace, name string, err error) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", "", Errorf("tool.ParseDotted", Invalid, "tool name %q is not of the form namespace.name", Truncate(s))
	}
	id, err := NewID(s[:i], s[i+1:], "0")
	if err != nil {
		return "", "", err
	}
	return id.Namespace, id.Name, nil
}

// String writes the full identity.
func (id ID) String() string { return id.Namespace + ":" + id.Name + "@" + id.Version.String() }

// WithoutVersion writes namespace:name.
func (id ID) WithoutVersion() string { return id.Namespace + ":" + id.Name }

// Dotted writes the name a model sees.
func (id ID) Dotted() string { return id.Namespace + "." + id.Name }

// IsZero reports whether id is unset.
func (id ID) IsZero() bool { return id == ID{} }

// Compare orders ids by namespace, name, then version.
func (id ID) Compare(other ID) int {
	return cmp.Or(
		cmp.Compare(id.Namespace, other.Namespace),
		cmp.Compare(id.Name, other.Name),
		id.Version.Compare(other.Version),
	)
}

// MarshalText writes the full identity; the zero ID is empty.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Ref asks for a tool by identity and a version range: exact (1.2.3 or 1.0),
// caret (^1.2), tilde (~1), comparisons (>=1 <2), or latest. No version means latest.
type Ref struct {
	Namespace string
	Name      string
	exact     *Version
	within    *semver.Constraints // nil with exact nil: any version
}

// ParseRef reads namespace:name, optionally followed by @range.
func ParseRef(s string) (Ref, error) {
	const op = "tool.ParseRef"
	bare, version, versioned := strings.Cut(s, "@")
	namespace, name, ok := strings.Cut(bare, ":")
	if !ok {
		return Ref{}, Errorf(op, Invalid, "tool reference %q is not of the form namespace:name or namespace:name@range",
			Truncate(s))
	}
	id, err := NewID(namespace, name, "0")
	if err != nil {
		return Ref{}, err
	}
	ref := Ref{Namespace: id.Namespace, Name: id.Name}
	if !versioned || version == "latest" {
		return ref, nil
	}
	if exact, err := ParseVersion(version); err == nil {
		ref.exact = &exact
		return ref, nil
	}
	if len(version) > maxPart {
		return Ref{}, Errorf(op, Invalid, "version range of %q is too long", Truncate(s))
	}
	ref.within, err = semver.NewConstraint(version)
	if err != nil {
		return Ref{}, Errorf(op, Invalid, "version range %q is not understood; use 1.2.3, ^1.2, ~1, >=1 <2 or latest",
			Truncate(version))
	}
	return ref, nil
}

// Matches reports whether id is one that the reference asks for.
func (r Ref) Matches(id ID) bool {
	switch {
	case r.Namespace != id.Namespace || r.Name != id.Name:
		return false
	case r.exact != nil:
		return *r.exact == id.Version
	case r.within != nil:
		return r.within.Check(semver.New(id.Version.Major, id.Version.Minor, id.Version.Patch, "", ""))
	default:
		return true
	}
}

// WithoutVersion strips the version from a textual id, and returns anything
// that is not a valid id unchanged.
func WithoutVersion(id string) string {
	parsed, ok := TryParseID(id)
	if !ok {
		return id
	}
	return parsed.WithoutVersion()
}

// Truncate shortens hostile input before it is quoted in an error.
func Truncate(s string) string { return TruncateTo(s, 80) }

// TruncateTo shortens s to at most n bytes and a mark, at a rune's edge.
func TruncateTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
