package picture

import (
	"image"

	"golang.org/x/image/draw"
)

const (
	// maxSide limits the width and the height: scaling a line of pixels takes some hundred bytes for each.
	maxSide = 1 << 20
	// maxBetween limits the pixels that the scaler keeps between its two passes, of 32 bytes each.
	maxBetween = 1 << 22
)

// Scale returns the picture in another size.
func (p *Picture) Scale(width, height int) *Picture {
	if width == p.Width && height == p.Height {
		return p
	}
	to := image.NewRGBA(image.Rect(0, 0, width, height))
	if area(width, p.Height) <= maxBetween {
		draw.CatmullRom.Scale(to, to.Bounds(), p.pixels, p.pixels.Bounds(), draw.Src, nil)
	} else {
		inSteps(to, p.pixels, maxBetween)
	}
	info := p.Info
	info.Width, info.Height = width, height
	return &Picture{info, to}
}

// area is how many pixels a width and a height are, also where an int is short.
func area(width, height int) int64 { return int64(width) * int64(height) }

// inSteps scales one side and then the other, so that the smaller of the two pictures in between
// is made: it has no more pixels than the larger one of the two that are given. The scaler keeps
// at most so many pixels, or one line of them.
func inSteps(to draw.Image, from image.Image, most int) {
	w, h := to.Bounds().Dx(), to.Bounds().Dy()
	sourceW, sourceH := from.Bounds().Dx(), from.Bounds().Dy()
	if area(w, sourceH) <= area(sourceW, h) {
		between := image.NewRGBA64(image.Rect(0, 0, w, sourceH))
		scaleWidth(between, from, most)
		scaleHeight(to, between, most)
		return
	}
	between := image.NewRGBA64(image.Rect(0, 0, sourceW, h))
	scaleHeight(between, from, most)
	scaleWidth(to, between, most)
}

// scaleWidth scales a picture to another width, some rows at a time.
func scaleWidth(to draw.Image, from image.Image, most int) {
	w, h, source := to.Bounds().Dx(), to.Bounds().Dy(), from.Bounds()
	step := min(max(most/w, 1), h)
	scaler := draw.CatmullRom.NewScaler(w, step, source.Dx(), step)
	for y := 0; y < h; y += step {
		rows := min(step, h-y)
		part := image.Rect(source.Min.X, source.Min.Y+y, source.Max.X, source.Min.Y+y+rows)
		scaler.Scale(to, image.Rect(0, y, w, y+rows), from, part, draw.Src, nil)
	}
}

// scaleHeight scales a picture to another height, some columns at a time.
func scaleHeight(to draw.Image, from image.Image, most int) {
	w, h, source := to.Bounds().Dx(), to.Bounds().Dy(), from.Bounds()
	step := min(max(most/source.Dy(), 1), w)
	scaler := draw.CatmullRom.NewScaler(step, h, step, source.Dy())
	for x := 0; x < w; x += step {
		columns := min(step, w-x)
		part := image.Rect(source.Min.X+x, source.Min.Y, source.Min.X+x+columns, source.Max.Y)
		scaler.Scale(to, image.Rect(x, 0, x+columns, h), from, part, draw.Src, nil)
	}
}
