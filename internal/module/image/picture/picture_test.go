package picture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"callgate/internal/module/image/picture"
)

// corner is a picture that is red but for its upper left corner.
func corner(w, h int) image.Image {
	p := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			p.Set(x, y, color.RGBA{255, 0, 0, 255})
			if x < w/2 && y < h/2 {
				p.Set(x, y, color.RGBA{0, 0, 255, 255})
			}
		}
	}
	return p
}

func asPNG(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// turned is a JPEG with a camera's note.
func turned(t testing.TB, turn int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, corner(64, 32), nil); err != nil {
		t.Fatal(err)
	}
	exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(rune(turn)) + "\x00\x00\x00\x00\x00\x00"
	return append([]byte("\xff\xd8\xff\xe1\x00"+string(rune(len(exif)+2))+exif), b.Bytes()[2:]...)
}

func TestFormats(t *testing.T) {
	t.Parallel()
	p, err := picture.Decode(asPNG(t, corner(40, 20)), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range picture.Writable {
		var b bytes.Buffer
		if err := p.Scale(20, 10).Write(&b, format, 90); err != nil {
			t.Fatal(format, err)
		}
		again, err := picture.Decode(b.Bytes(), 1000)
		if err != nil || again.Format != format || again.Width != 20 || again.Height != 10 {
			t.Errorf("%s: %+v %v", format, again, err)
		}
	}
	if err := p.Write(&bytes.Buffer{}, "webp", 90); err == nil {
		t.Error("webp is written")
	}
	for _, c := range [][4]int{{10, 0, 10, 5}, {0, 10, 20, 10}, {10, 3, 6, 3}, {400, 400, 40, 20}, {1, 1, 1, 1}} {
		if w, h := p.Inside(c[0], c[1]); w != c[2] || h != c[3] {
			t.Errorf("%v: %d %d", c, w, h)
		}
	}
}

// TestTurned: a picture that lies on its side is put upright.
func TestTurned(t *testing.T) {
	t.Parallel()
	blue := map[int][2]int{1: {8, 8}, 2: {56, 8}, 3: {56, 24}, 4: {8, 24}, 5: {8, 8}, 6: {24, 8}, 7: {24, 56}, 8: {8, 56}}
	for turn, at := range blue {
		p, err := picture.Decode(turned(t, turn), 10_000)
		if err != nil {
			t.Fatal(turn, err)
		}
		if (p.Width == 32) != (turn > 4) {
			t.Errorf("%d: %d × %d", turn, p.Width, p.Height)
		}
		var b bytes.Buffer
		_ = p.Write(&b, "png", 0)
		pixels, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if r, _, bl, _ := pixels.At(at[0], at[1]).RGBA(); bl < r {
			t.Errorf("%d: the corner is not at %v", turn, at)
		}
	}
}

func TestBombs(t *testing.T) {
	t.Parallel()
	wide := asPNG(t, corner(8, 8))
	binary.BigEndian.PutUint32(wide[16:], 60000) // the head says 60000 × 8; its checksum is not read before the size
	lossless := func(w, h uint32) []byte {
		chunk := []byte{0x2f, 0, 0, 0, 0}
		binary.LittleEndian.PutUint32(chunk[1:], (w-1)|(h-1)<<14)
		return append([]byte("VP8L\x05\x00\x00\x00"), append(chunk, 0)...)
	}
	small := []byte("VP8X\x0a\x00\x00\x00\x10\x00\x00\x00\x07\x00\x00\x07\x00\x00") // a canvas of 8 × 8
	webp := func(parts ...[]byte) []byte {
		body := append([]byte("WEBP"), bytes.Join(parts, nil)...)
		return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
	}
	for name, data := range map[string][]byte{
		"gif": []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00;"), "webp": webp(lossless(16000, 16000)),
		"webp in a small canvas": webp(small, lossless(16000, 16000)),
		"bmp": append([]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"),
			"\x00\x00\x01\x00\x00\x00\x01\x00\x01\x00\x18\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...),
	} {
		_, err := picture.Decode(data, 1_000_000)
		if large := (*picture.TooLargeError)(nil); !errors.As(err, &large) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := picture.Decode(wide, 1000); err == nil {
		t.Error("a head that lies")
	}
	for name, data := range map[string]string{
		"empty": "", "text": "hello", "cut": string(asPNG(t, corner(8, 8))[:30]), "svg": "<svg/>",
		"no pixels": "GIF89a\x00\x00\x00\x00\x00\x00\x00;",
	} {
		if _, err := picture.Decode([]byte(data), 1000); err == nil || !strings.Contains(err.Error(), "it is") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(asPNG(f, corner(8, 8)))
	f.Add(turned(f, 6))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"))
	f.Add([]byte("GIF89a\x02\x00\x02\x00\x00\x00\x00;"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := picture.Decode(data, 10_000)
		if err == nil && (p.Width <= 0 || p.Height <= 0 || p.Width*p.Height > 10_000) {
			t.Fatalf("%d × %d", p.Width, p.Height)
		}
	})
}
