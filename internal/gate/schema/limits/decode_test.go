package limits_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/gate/schema/limits"
)

func TestDecodeLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		doubled bool
		err     string
	}{
		{`{"a":[1,"b:,{\""]}`, false, ""},
		{`{"a":1,"a":2}`, true, ""},
		{`[{"a":1},{"a":1}]`, false, ""},
		{`{"a":{"b":1,"\u0062":1}}`, true, ""},
		{` 1 `, false, ""},
		{``, false, "it is empty"},
		{`1 2`, false, "more after the end"},
		{`{"a"`, false, "cut off after byte 4"},
		{`[1,]`, false, "at byte 4"},
		{strings.Repeat("[", 1001), false, "more than 1000 levels"},
		{`[` + strings.Repeat("0,", 4_000_000) + `0]`, false, "too many values"},
		{`1e1001`, false, "too large"},
		{`1e-1000`, false, ""},
		{strings.Repeat("1", 1001), false, "too large"},
	} {
		_, doubled, err := limits.Decode([]byte(tt.text))
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || doubled != tt.doubled {
			t.Errorf("Decode(%.40s) = doubled %v, %v", tt.text, doubled, err)
		}
	}
}

func TestEncodeIsCanonicalAndLimited(t *testing.T) {
	t.Parallel()
	text, err := limits.Encode(map[string]any{"b": json.Number("1.0"), "a": "<&>\u2028"})
	if err != nil || string(text) != `{"a":"<&>\u2028","b":1.0}` {
		t.Errorf("Encode: %s, %v", text, err)
	}
	var deep any
	for range 1001 {
		deep = []any{deep}
	}
	for _, value := range []any{deep, json.Number("1e9999"), func() {}} {
		if text, err := limits.Encode(value); err == nil {
			t.Errorf("Encode wrote %.40s", text)
		}
	}
}

func TestIsSmallNumber(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]bool{
		"1": true, "-1.5e+1000": true, "1E-1001": false, "1e00000000001": true,
		strings.Repeat("1", 1000): true, strings.Repeat("1", 1001): false,
	} {
		if limits.IsSmallNumber(number) != want || limits.IsSmallNumber([]byte(number)) != want {
			t.Errorf("IsSmallNumber(%.20s) = %v", number, !want)
		}
	}
}

// FuzzDecode compares Decode with the standard library: it accepts nothing else,
// returns the same values, and can decode what Encode writes of them.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.0,-3e5,"x\"y",null,true,{}]}`, `"\ud800"`, `[[]]`, ` {} `, `{"a":1,"a":2}`, `1e1000`, `[1`,
		"{\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, doubled, err := limits.Decode(text)
		if err != nil {
			return
		}
		var want any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if !json.Valid(text) || dec.Decode(&want) != nil || !reflect.DeepEqual(value, want) {
			t.Fatalf("Decode(%q) = %v, want %v", text, value, want)
		}
		once, err := limits.Encode(value)
		if err != nil {
			t.Fatalf("Encode(%v): %v", value, err)
		}
		again, twice, err := limits.Decode(once)
		if err != nil || twice || !reflect.DeepEqual(again, value) {
			t.Fatalf("%q was written as %q and read as %v, %v (doubled %v, first %v)", text, once, again, err, twice, doubled)
		}
	})
}

// TestDecodeLarge: a large object is the same value as a small one, and is in memory
// not many times while it is decoded.
func TestDecodeLarge(t *testing.T) {
	long := strings.Repeat(`é \"x\" \u00e9\n`, 200_000)
	for _, rest := range []string{
		``, `,"n":1.50,"l":[1,{"a":null}],"o":{"x":2e3},"z":null,"t":true`, `,"n":1,"n":2`, ` }{`, `,"x":nul`, "} \n ",
	} {
		small, large := `{"s":""`+rest+`}`, `{"s":"`+long+`"`+rest+`}`
		want, wantDoubled, wantErr := limits.Decode([]byte(small))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, doubled, err := limits.Decode([]byte(large))
		runtime.ReadMemStats(&after)
		if (err == nil) != (wantErr == nil) || doubled != wantDoubled {
			t.Fatalf("%s: %v, %v; a small one %v, %v", rest, doubled, err, wantDoubled, wantErr)
		}
		if err != nil {
			continue
		}
		object := got.(map[string]any)
		if n := len(object["s"].(string)); n < 1<<20 {
			t.Errorf("its text has %d bytes", n)
		}
		object["s"] = ""
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", rest, got, want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(3*len(large)) {
			t.Errorf("%d bytes were allocated for %d", took, len(large))
		}
	}
}
