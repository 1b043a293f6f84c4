package image

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/image/picture"
	"callgate/tool"
)

//go:embed resize.md
var resizeDoc string

//go:embed convert.md
var convertDoc string

const writeParameters = pathParameter + `,
    "to": {"type": "string", "minLength": 1, "description": "The file to write; its ending says the format."},
    "quality": {"type": "integer", "minimum": 1, "maximum": 100, "default": 85, "description": "Of a JPEG."},
    "overwrite": {"type": "boolean", "default": false, "description": "Replace a file that is there already."}`

func (m *images) resizeTool() module.Definition {
	return module.Definition{
		Name: "resize", Doc: resizeDoc, Output: infoOutput,
		Input: `{"type": "object", "properties": {` + writeParameters + `,
    "width": {"type": "integer", "minimum": 1, "maximum": 30000},
    "height": {"type": "integer", "minimum": 1, "maximum": 30000},
    "stretch": {"type": "boolean", "default": false, "description": "Exactly this width and height, whatever the form."}
  }, "required": ["path", "to"], "additionalProperties": false}`,
		Examples: []tool.Example{
			module.Example("at most 800 wide", `{"path": "photo.jpg", "to": "small.jpg", "width": 800}`),
			module.Example("an icon", `{"path": "logo.png", "to": "icon.png", "width": 64, "height": 64, "stretch": true}`),
		},
		Aliases: []string{
			"resize_image", "scale a picture", "make a picture smaller", "thumbnail", "redimensionner une image", "Bild verkleinern",
			"cambiar el tamaño de una imagen", "redimensionar imagem", "缩放图片", "画像を縮小", "изменить размер изображения",
		},
		Tags: []string{"image", "picture", "photo", "scale", "thumbnail", "Bild"}, Runtime: writes(),
		Handler: handler(m, "resize", func(ctx context.Context, c *call, in writeArgs) (*tool.Result, error) {
			switch {
			case in.Width == 0 && in.Height == 0:
				return nil, tool.Errorf(c.Op, tool.Invalid, "it is not said how large").WithHint("give width, height or both")
			case in.Stretch && (in.Width == 0 || in.Height == 0):
				return nil, tool.Errorf(c.Op, tool.Invalid, "stretch needs both").WithHint("give width and height")
			}
			return c.write(ctx, in)
		}),
	}
}

func (m *images) convertTool() module.Definition {
	return module.Definition{
		Name: "convert", Doc: convertDoc, Output: infoOutput,
		Input: `{"type": "object", "properties": {` + writeParameters + `,
    "format": {"type": "string", "enum": ["png", "jpeg", "gif", "bmp", "tiff"], "description": "In the place of the ending's."}
  }, "required": ["path", "to"], "additionalProperties": false}`,
		Examples: []tool.Example{module.Example("to JPEG", `{"path": "scan.tiff", "to": "scan.jpg", "quality": 90}`)},
		Aliases: []string{
			"convert_image", "change the format of a picture", "webp to png", "png to jpg", "convertir une image", "Bild umwandeln",
			"convertir una imagen", "converter imagem", "转换图片格式", "画像を変換", "конвертировать изображение",
		},
		Tags: []string{"image", "picture", "photo", "format", "Bild"}, Runtime: writes(),
		Handler: handler(m, "convert", func(ctx context.Context, c *call, in writeArgs) (*tool.Result, error) {
			return c.write(ctx, in)
		}),
	}
}

type writeArgs struct {
	Path, To, Format       string
	Width, Height, Quality int
	Overwrite, Stretch     bool
}

// write writes a picture in another size or format.
func (c *call) write(ctx context.Context, in writeArgs) (*tool.Result, error) {
	f, err := c.read(in.Path)
	if err != nil {
		return nil, err
	}
	format := in.Format
	if format == "" {
		format = formatOf(in.To)
	}
	switch {
	case format == "":
		format = f.Format
	case in.Format != "" && formatOf(in.To) != "" && formatOf(in.To) != format:
		return nil, tool.Errorf(c.Op, tool.Invalid, "%q says another format than %s", tool.Truncate(in.To), format)
	}
	if !slices.Contains(picture.Writable, format) {
		return nil, tool.Errorf(c.Op, tool.Invalid, "%s can be read and not written", format).
			WithHint("write one of %s", strings.Join(picture.Writable, ", "))
	}
	w, h := f.Inside(in.Width, in.Height)
	if in.Stretch {
		w, h = in.Width, in.Height
	}
	if w > c.settings.MaxPixels/h {
		return nil, tool.Errorf(c.Op, tool.Invalid, "%d × %d are more pixels than are allowed", w, h).
			WithHint("the app file may allow more: tools.modules.image.constraints.max_pixels")
	}
	target, err := c.Target(in.To, in.Overwrite)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	p, done, err := c.decode(ctx, f)
	if err != nil {
		return nil, err
	}
	defer done()
	out, err := target.Create("")
	if err != nil {
		return nil, err
	}
	quality := in.Quality
	if quality == 0 {
		quality = 85
	}
	p = p.Scale(w, h)
	if err := p.Write(stopping{ctx, out}, format, quality); err != nil {
		out.Discard()
		return nil, c.Fail(target.Shown(), err)
	}
	size := int(out.Size())
	if err := out.Commit(); err != nil {
		return nil, err
	}
	d := infoData{target.Shown(), format, w, h, size}
	return tool.OK(fmt.Sprintf("wrote %s; it was %d × %d", d, f.Width, f.Height), d)
}

// stopping is a writer that fails when nobody waits any more.
type stopping struct {
	ctx context.Context
	io.Writer
}

// Write passes on what is written.
func (s stopping) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Writer.Write(p)
}

func (c *call) timeLimit() time.Duration {
	return time.Duration(float64(c.settings.Timeout) * float64(time.Second))
}
