// Package picture reads, scales and writes pictures: PNG, JPEG, GIF, BMP and TIFF, and WebP to read.
//
// # Law
//
// A picture says how large it is before it is decoded, and one that says more pixels than are
// allowed is refused then: a file of some kilobytes can be a picture of gigabytes. A camera's note
// that a picture lies on its side is followed. Of an animation the first picture is taken.
package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Info is what the head of a file says.
type Info struct {
	Format        string // png, jpeg, gif, webp, bmp, tiff
	Width, Height int    // as it is shown
	turn          int    // how a camera held it, as EXIF counts: 1 is upright
}

// MIME is the type of the file.
func (i Info) MIME() string { return "image/" + i.Format }

// format is a kind of file: how it begins, and who reads it.
type format struct {
	name   string
	begins []string // with ? for any byte
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

var formats = []format{
	{"png", []string{"\x89PNG\r\n\x1a\n"}, png.DecodeConfig, png.Decode},
	{"jpeg", []string{"\xff\xd8\xff"}, jpeg.DecodeConfig, jpeg.Decode},
	{"gif", []string{"GIF87a", "GIF89a"}, gif.DecodeConfig, gif.Decode},
	{"webp", []string{"RIFF????WEBPVP8"}, webp.DecodeConfig, webp.Decode},
	{"bmp", []string{"BM????\x00\x00\x00\x00"}, bmp.DecodeConfig, bmp.Decode},
	{"tiff", []string{"II*\x00", "MM\x00*"}, tiff.DecodeConfig, tiff.Decode},
}

func formatOf(data []byte) (format, bool) {
	for _, f := range formats {
		for _, begin := range f.begins {
			if fits(data, begin) {
				return f, true
			}
		}
	}
	return format{}, false
}

func fits(data []byte, begin string) bool {
	if len(data) < len(begin) {
		return false
	}
	for i := range len(begin) {
		if begin[i] != '?' && begin[i] != data[i] {
			return false
		}
	}
	return true
}

// ErrUnknown says that a file is none of the formats.
var ErrUnknown = errors.New("it is no picture that can be read; png, jpeg, gif, webp, bmp and tiff can")

// Inspect reads the head of a file.
func Inspect(data []byte) (Info, error) {
	f, ok := formatOf(data)
	if !ok {
		return Info{}, ErrUnknown
	}
	config, err := f.config(bytes.NewReader(data))
	if err != nil {
		return Info{}, fmt.Errorf("it is a broken %s: %w", f.name, err)
	}
	i := Info{Format: f.name, Width: config.Width, Height: config.Height, turn: 1}
	if f.name == "jpeg" {
		if i.turn = orientation(data); i.turn > 4 {
			i.Width, i.Height = i.Height, i.Width
		}
	}
	if i.Width <= 0 || i.Height <= 0 {
		return Info{}, fmt.Errorf("it is a %s without pixels", f.name)
	}
	return i, nil
}

// Picture is a decoded picture.
type Picture struct {
	Info
	pixels image.Image
}

// TooLargeError says that a picture has more pixels than are decoded.
type TooLargeError struct{ Width, Height, Most int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it has %d × %d pixels, and pictures of at most %d are decoded", e.Width, e.Height, e.Most)
}

// Decode reads a picture of at most so many pixels.
func Decode(data []byte, most int) (*Picture, error) {
	info, err := Inspect(data)
	if err != nil {
		return nil, err
	}
	switch {
	case info.Width > most/info.Height:
		return nil, &TooLargeError{info.Width, info.Height, most}
	case max(info.Width, info.Height) > maxSide:
		return nil, fmt.Errorf("it has %d × %d pixels, and a side of at most %d is decoded", info.Width, info.Height, maxSide)
	}
	switch info.Format {
	case "webp":
		err = checkFrames(data, most)
	case "jpeg":
		err = checkScans(data)
	}
	if err != nil {
		return nil, err
	}
	f, _ := formatOf(data)
	pixels, err := f.decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is a broken %s: %w", info.Format, err)
	}
	return &Picture{info, upright(pixels, info.turn)}, nil
}

// checkFrames holds the frames inside of a WebP to the limit: its head may say less than they do.
func checkFrames(data []byte, most int) error {
	const head, chunkHead = 12, 8
	for at := head; at+chunkHead <= len(data); {
		size := int(binary.LittleEndian.Uint32(data[at+4:]))
		body := data[at+chunkHead:]
		width, height := 0, 0
		switch name := string(data[at : at+4]); {
		case name == "VP8 " && len(body) >= 10:
			width, height = int(body[6])|int(body[7]&0x3f)<<8, int(body[8])|int(body[9]&0x3f)<<8
		case name == "VP8L" && len(body) >= 5:
			bits := binary.LittleEndian.Uint32(body[1:])
			width, height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
		}
		if height > 0 && width > most/height {
			return &TooLargeError{width, height, most}
		}
		if size < 0 || size > len(body) {
			return nil // it is cut off, which decoding says
		}
		at += chunkHead + size + size%2
	}
	return nil
}

// upright turns pixels as a camera's note says.
func upright(from image.Image, turn int) image.Image {
	if turn < 2 || turn > 8 {
		return from
	}
	b := from.Bounds()
	w, h := b.Dx(), b.Dy()
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	if turn > 4 {
		to = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch turn {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			to.Set(tx, ty, from.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	return to
}

// Inside is the size that a picture has when it fits into a width and a height, and keeps its
// form; zero is any. It does not grow.
func (i Info) Inside(width, height int) (w, h int) {
	w, h = i.Width, i.Height
	if width > 0 && w > width {
		w, h = width, max(h*width/w, 1)
	}
	if height > 0 && h > height {
		w, h = max(w*height/h, 1), height
	}
	return w, h
}

// Writable are the formats that can be written.
var Writable = []string{"png", "jpeg", "gif", "bmp", "tiff"}

// Write writes the picture in a format. The quality, from 1 to 100, is for JPEG, which has no
// transparency: what shows through is white there.
func (p *Picture) Write(w io.Writer, format string, quality int) error {
	switch format {
	case "png":
		return png.Encode(w, p.pixels)
	case "jpeg":
		return jpeg.Encode(w, onWhite(p.pixels), &jpeg.Options{Quality: quality})
	case "gif":
		return gif.Encode(w, p.pixels, nil)
	case "bmp":
		return bmp.Encode(w, p.pixels)
	case "tiff":
		return tiff.Encode(w, p.pixels, &tiff.Options{Compression: tiff.Deflate, Predictor: true})
	}
	return fmt.Errorf("%s cannot be written", format)
}

func onWhite(from image.Image) image.Image {
	if o, ok := from.(interface{ Opaque() bool }); ok && o.Opaque() {
		return from
	}
	to := image.NewRGBA(image.Rect(0, 0, from.Bounds().Dx(), from.Bounds().Dy()))
	draw.Draw(to, to.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Over)
	return to
}
