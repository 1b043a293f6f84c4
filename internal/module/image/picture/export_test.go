package picture

import (
	"image"

	"golang.org/x/image/draw"
)

// InSteps scales with few pixels in between.
func InSteps(to draw.Image, from image.Image, most int) { inSteps(to, from, most) }
