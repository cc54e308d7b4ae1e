package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

// twoByTwo is red, green; blue, half-transparent white.
func twoByTwo() image.Image {
	img := image.NewNRGBA(image.Rect(3, 5, 5, 7))
	for i, c := range []color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 255, 51}} {
		img.SetNRGBA(3+i%2, 5+i/2, c)
	}
	return img
}

func TestLayoutIsFoundWhereChannelsAre(t *testing.T) {
	for _, c := range []struct {
		dims []int64
		want Layout
		ok   bool
	}{
		{[]int64{1, 3, 32, 64}, Layout{true, true, 3, 32, 64}, true},
		{[]int64{-1, 1, -1, -1}, Layout{true, true, 1, -1, -1}, true},
		{[]int64{1, 32, 64, 4}, Layout{false, true, 4, 32, 64}, true},
		{[]int64{3, 32, 64}, Layout{true, false, 3, 32, 64}, true},
		{[]int64{-1, -1, 3}, Layout{false, false, 3, -1, -1}, true},
		{[]int64{1, 3, 32, 3}, Layout{true, true, 3, 32, 3}, true},
		{[]int64{2, 3, 32, 64}, Layout{}, false},
		{[]int64{1, 2, 32, 64}, Layout{}, false},
		{[]int64{1, 3, 0, 64}, Layout{}, false},
		{[]int64{3, 32}, Layout{}, false},
		{[]int64{1, 1, 3, 32, 32}, Layout{}, false},
		{nil, Layout{}, false},
	} {
		got, ok := LayoutOf(c.dims)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%v: got %+v, %v, want %+v, %v", c.dims, got, ok, c.want, c.ok)
		}
	}
}

func floats(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	s, err := tensor.Data[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestChannelsGoWhereTheLayoutSays(t *testing.T) {
	planar := Layout{true, true, 3, -1, -1}
	for name, c := range map[string]struct {
		l     Layout
		o     Options
		shape tensor.Shape
		want  []float32
	}{
		"planar":      {planar, Options{}, tensor.Shape{1, 3, 2, 2}, []float32{1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1}},
		"interleaved": {Layout{false, false, 3, 2, 2}, Options{}, tensor.Shape{2, 2, 3}, []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}},
		"alpha": {Layout{false, false, 4, 2, 2}, Options{}, tensor.Shape{2, 2, 4},
			[]float32{1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0.2}},
		"luma":  {Layout{true, false, 1, 2, 2}, Options{Scale: 1}, tensor.Shape{1, 2, 2}, []float32{76.245, 149.685, 29.07, 255}},
		"swap":  {planar, Options{BGR: true}, tensor.Shape{1, 3, 2, 2}, []float32{0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1}},
		"scale": {planar, Options{Scale: 2.0 / 255, Mean: []float64{1}}, tensor.Shape{1, 3, 2, 2}, []float32{1, -1, -1, 1, -1, 1, -1, 1, -1, -1, 1, 1}},
		"mean and std by channel": {planar, Options{Mean: []float64{0, 1, 0}, Std: []float64{1, 1, 0.5}}, tensor.Shape{1, 3, 2, 2},
			[]float32{1, 0, 0, 1, -1, 0, -1, 0, 0, 0, 2, 2}},
	} {
		x, err := Tensor(twoByTwo(), c.l, tensor.Float32, c.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := floats(t, x)
		same := x.Shape().Equal(c.shape)
		for i := range c.want {
			same = same && math.Abs(float64(got[i]-c.want[i])) < 1e-4
		}
		if !same {
			t.Errorf("%s: got %v %v, want %v %v", name, x, got, c.shape, c.want)
		}
	}
}

func TestElementTypesOfPictures(t *testing.T) {
	l := Layout{true, false, 1, 1, 2}
	img := image.NewGray(image.Rect(0, 0, 2, 1))
	img.Pix[1] = 255
	for dt, want := range map[tensor.DType][]byte{
		tensor.Uint8:    {0, 255},
		tensor.Float16:  {0, 0, 0, 0x3c},
		tensor.BFloat16: {0, 0, 0x80, 0x3f},
		tensor.Float64:  {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f},
	} {
		x, err := Tensor(img, l, dt, Options{})
		if err != nil || !bytes.Equal(x.Bytes(), want) {
			t.Errorf("%v: got %v, %v, want %v", dt, x, err, want)
		}
	}
	for _, dt := range []tensor.DType{tensor.Int8, tensor.Int64, tensor.String, tensor.Float8E5M2, tensor.Bool} {
		if _, err := Tensor(img, l, dt, Options{}); err == nil || !strings.Contains(err.Error(), dt.String()) {
			t.Errorf("%v: got error %v", dt, err)
		}
	}
}

func TestUint8RoundsAndSaturates(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 3, 1))
	copy(img.Pix, []uint8{1, 100, 200})
	x, err := Tensor(img, Layout{true, false, 1, 1, 3}, tensor.Uint8, Options{Scale: 1.5, Mean: []float64{10}})
	if err != nil || !bytes.Equal(x.Bytes(), []byte{0, 140, 255}) {
		t.Errorf("got %v, %v, want 0 140 255", x.Bytes(), err)
	}
}

func TestOptionsMustFitTheChannels(t *testing.T) {
	for _, o := range []Options{{Mean: []float64{1, 2}}, {Std: []float64{1, 2}}, {Std: []float64{0}}} {
		if _, err := Tensor(twoByTwo(), Layout{true, false, 3, -1, -1}, tensor.Float32, o); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
}

func row(px ...float32) planes { return planes{len(px), 1, 1, px} }

func TestResizeAveragesWhenItShrinksAndInterpolatesWhenItGrows(t *testing.T) {
	for name, c := range map[string]struct{ in, want planes }{
		"same":            {row(1, 2, 3), row(1, 2, 3)},
		"to one":          {row(0, 3, 6), row(3)},
		"grow by two":     {row(0, 4), row(0, 1, 3, 4)},
		"grow from one":   {row(5), row(5, 5, 5)},
		"shrink by two":   {row(0, 0, 8, 8), row(1./7*8, 6./7*8)},
		"constant stays":  {row(7, 7, 7, 7, 7), row(7, 7)},
		"grow a fraction": {row(0, 6), row(0, 3, 6)},
	} {
		got := c.in.resize(c.want.w, 1)
		for i := range c.want.px {
			if len(got.px) != len(c.want.px) || math.Abs(float64(got.px[i]-c.want.px[i])) > 1e-5 {
				t.Errorf("%s: got %v, want %v", name, got.px, c.want.px)
				break
			}
		}
	}
}

func TestRowsAndColumnsResizeAlike(t *testing.T) {
	in := planes{3, 4, 2, make([]float32, 24)}
	turned := planes{4, 3, 2, make([]float32, 24)}
	for y := range 4 {
		for x := range 3 {
			for c := range 2 {
				v := float32((y*7 + x*5 + c*3) % 11)
				in.px[(y*3+x)*2+c], turned.px[(x*4+y)*2+c] = v, v
			}
		}
	}
	a, b := in.resize(5, 2), turned.resize(2, 5)
	for y := range 2 {
		for x := range 5 {
			for c := range 2 {
				if p, q := a.px[(y*5+x)*2+c], b.px[(x*2+y)*2+c]; math.Abs(float64(p-q)) > 1e-5 {
					t.Fatalf("pixel %d,%d channel %d: got %v and %v", x, y, c, p, q)
				}
			}
		}
	}
}

func TestFixedSidesResizeAndFreeSidesDoNot(t *testing.T) {
	for _, c := range []struct {
		l    Layout
		want tensor.Shape
	}{
		{Layout{true, true, 3, -1, -1}, tensor.Shape{1, 3, 2, 2}},
		{Layout{true, true, 3, 5, -1}, tensor.Shape{1, 3, 5, 2}},
		{Layout{false, true, 3, 5, 7}, tensor.Shape{1, 5, 7, 3}},
	} {
		x, err := Tensor(twoByTwo(), c.l, tensor.Float32, Options{})
		if err != nil || !x.Shape().Equal(c.want) {
			t.Errorf("%+v: got %v, %v, want %v", c.l, x, err, c.want)
		}
	}
	for _, l := range []Layout{
		{true, true, 3, 1 << 20, 1 << 20}, {true, true, 3, 1, math.MaxInt64}, {true, true, 1, 1, 1 << 26},
	} {
		if _, err := Tensor(twoByTwo(), l, tensor.Float32, Options{}); err == nil {
			t.Errorf("%+v: got no error", l)
		}
	}
}

func encodePNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecodeReadsPNGAndJPEG(t *testing.T) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, twoByTwo(), nil); err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{encodePNG(t, twoByTwo()), b.Bytes()} {
		img, err := Decode(file)
		if err != nil || img.Bounds().Dx() != 2 || img.Bounds().Dy() != 2 {
			t.Errorf("%q: got %v, %v", file[:4], img, err)
		}
	}
}

func TestBadAndHugePicturesAreRefused(t *testing.T) {
	good := encodePNG(t, twoByTwo())
	huge := bytes.Clone(good)
	binary.BigEndian.PutUint32(huge[16:], 1<<20)
	binary.BigEndian.PutUint32(huge[20:], 1<<20)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":     {nil, "picture: image: unknown format"},
		"truncated": {good[:40], "picture: "},
		"huge":      {huge, "picture: png of 1048576×1048576: want"},
	} {
		if _, err := Decode(c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestPaintMapsRanges(t *testing.T) {
	type span struct{ black, white float64 }
	shape := tensor.Shape{1, 1, 1, 3}
	for name, c := range map[string]struct {
		t    *tensor.Tensor
		want []uint8
		span span
	}{
		"unit floats":  {tensor.Must(shape, []float32{0, 0.5, 1}), []uint8{0, 128, 255}, span{0, 1}},
		"other floats": {tensor.Must(shape, []float64{-2, 0, 2}), []uint8{0, 128, 255}, span{-2, 2}},
		"constant":     {tensor.Must(shape, []float64{7, 7, 7}), []uint8{0, 0, 0}, span{7, 8}},
		"not finite":   {tensor.Must(shape, []float64{math.NaN(), math.Inf(1), 1}), []uint8{0, 255, 255}, span{0, 1}},
		"bytes":        {tensor.Must(shape, []uint8{0, 9, 255}), []uint8{0, 9, 255}, span{0, 255}},
		"bools":        {tensor.Must(shape, []bool{false, true, true}), []uint8{0, 255, 255}, span{0, 1}},
		"integers":     {tensor.Must(shape, []int32{0, 10, 20}), []uint8{0, 128, 255}, span{0, 20}},
	} {
		img, black, white, ok := Paint(c.t)
		if !ok {
			t.Errorf("%s: got no picture", name)
			continue
		}
		if got := img.(*image.Gray).Pix; !reflect.DeepEqual(got, c.want) || (span{black, white}) != c.span {
			t.Errorf("%s: got %v %v..%v, want %v %v", name, got, black, white, c.want, c.span)
		}
	}
}

func TestPaintUndoesTensor(t *testing.T) {
	for _, l := range []Layout{{true, true, 4, -1, -1}, {false, false, 4, -1, -1}} {
		x, err := Tensor(twoByTwo(), l, tensor.Float32, Options{})
		if err != nil {
			t.Fatal(err)
		}
		img, _, _, ok := Paint(x)
		if want := twoByTwo().(*image.NRGBA).Pix; !ok || !reflect.DeepEqual(img.(*image.NRGBA).Pix, want) {
			t.Errorf("%+v: got %v, want pixels %v", l, img, want)
		}
	}
}

func TestPaintRefusesWhatIsNotAPicture(t *testing.T) {
	for _, x := range []*tensor.Tensor{
		tensor.Of[float32](1, 2), tensor.Must(tensor.Shape{1, 3, 0, 4}, []float32{}), tensor.Must(tensor.Shape{2, 4}, make([]float32, 8)),
		tensor.Must(tensor.Shape{1, 1, 1}, []string{"a"}), tensor.Must(tensor.Shape{2, 1, 2, 2}, make([]float32, 8)),
	} {
		if _, _, _, ok := Paint(x); ok {
			t.Errorf("%v: got a picture", x)
		}
	}
	if _, _, _, ok := Paint(tensor.Must(tensor.Shape{8, 9}, make([]float32, 72))); !ok {
		t.Error("8×9 numbers: got no picture")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encodePNG(f, twoByTwo()))
	f.Add([]byte("\xff\xd8\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		img, err := Decode(b)
		if err != nil || img.Bounds().Dx()*img.Bounds().Dy() > 1<<16 {
			return
		}
		if _, err := Tensor(img, Layout{true, true, 3, 4, 5}, tensor.Float32, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}
