package picture_test

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/image/draw"

	"callgate/internal/module/image/picture"
)

// line is a picture that is one pixel wide.
func line(height int) image.Image {
	p := image.NewGray(image.Rect(0, 0, 1, height))
	for y := range height {
		p.Pix[y] = byte(y)
	}
	return p
}

// TestScaleTakesLittle: the pixels between two lines across each other are never made.
func TestScaleTakesLittle(t *testing.T) {
	p, err := picture.Decode(asPNG(t, line(3000)), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	small := p.Scale(3000, 1)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 150<<20 {
		t.Errorf("3000 × 1 of 1 × 3000 took %d MB", took>>20)
	}
	if small.Width != 3000 || small.Height != 1 {
		t.Errorf("%+v", small.Info)
	}
}

// TestScaleInSteps: a picture that is scaled step by step is the one that is scaled at once.
func TestScaleInSteps(t *testing.T) {
	t.Parallel()
	for _, size := range [][4]int{{16, 420, 105, 5}, {105, 50, 16, 42}, {40, 210, 201, 20}, {60, 60, 50, 70}, {7, 9, 70, 90}} {
		from := image.NewNRGBA(image.Rect(0, 0, size[0], size[1]))
		for y := range size[1] {
			for x := range size[0] {
				from.Set(x, y, color.NRGBA{byte(x * 3), byte(y / 2), byte(x + y/3), 255 - byte(y/4)})
			}
		}
		got := image.NewRGBA(image.Rect(0, 0, size[2], size[3]))
		picture.InSteps(got, from, 1000)
		want := image.NewRGBA(image.Rect(0, 0, size[2], size[3]))
		draw.CatmullRom.Scale(want, want.Bounds(), from, from.Bounds(), draw.Src, nil)
		for y := range size[3] {
			for x := range size[2] {
				if !near(got.At(x, y), want.At(x, y)) {
					t.Fatalf("%v: at %d, %d it is %v and not %v", size, x, y, got.At(x, y), want.At(x, y))
				}
			}
		}
	}
}

func near(a, b color.Color) bool {
	r1, g1, b1, a1 := a.RGBA()
	r2, g2, b2, a2 := b.RGBA()
	for _, d := range []int{int(r1) - int(r2), int(g1) - int(g2), int(b1) - int(b2), int(a1) - int(a2)} {
		if d > 0x400 || d < -0x400 {
			return false
		}
	}
	return true
}

// TestLongSides: a line that is longer than any picture is refused before it is decoded.
func TestLongSides(t *testing.T) {
	t.Parallel()
	long := asPNG(t, corner(8, 8))
	binary.BigEndian.PutUint32(long[16:], 2_000_000)
	binary.BigEndian.PutUint32(long[29:], crc32.ChecksumIEEE(long[12:29]))
	_, err := picture.Decode(long, 40_000_000)
	if err == nil || !strings.Contains(err.Error(), "a side of") {
		t.Errorf("%v", err)
	}
}
