package demodata

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/onnx"
)

func TestFilesAreWhatTheDemonstrationNeeds(t *testing.T) {
	img, err := png.Decode(bytes.NewReader(Picture))
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 480 || size.Y != 320 {
		t.Errorf("picture: got %v, want 480×320", size)
	}
	f, err := onnx.FromBytes(Model)
	if err != nil {
		t.Fatal(err)
	}
	im, err := f.Import()
	if err != nil {
		t.Fatal(err)
	}
	if len(im.Unsupported) > 0 || len(im.Warnings) > 0 {
		t.Errorf("model: got %v and %q, want neither", im.Unsupported, im.Warnings)
	}
	if err := graph.Validate(im.Graph); err != nil {
		t.Error(err)
	}
	const most = 50_000
	if len(Model) > most || len(Picture) > 4*most {
		t.Errorf("got %d and %d bytes, want small files", len(Model), len(Picture))
	}
}
