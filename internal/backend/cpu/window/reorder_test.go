package window

import (
	"fmt"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// TestReorderIsTheLayout compares with the definition of the layout, in both directions, for each
// size of elements, with one worker and two.
func TestReorderIsTheLayout(t *testing.T) {
	team := backend.NewTeam(2)
	defer team.Close()
	types := []tensor.DType{tensor.Uint8, tensor.Float16, tensor.Float32, tensor.Int64, tensor.Complex128}
	for _, s := range []tensor.Shape{
		{1, 1, 1}, {2, 3, 5}, {1, 16, 7, 9}, {2, 24, 3, 3}, {1, 37, 31, 2, 3}, {3, 8, 1, 1}, {1, 0, 4, 4}, {2, 5, 0},
		{0, 3, 2}, {1, 40, 70, 70}, {2, 500, 2, 3}, {1, 4420, 4},
	} {
		for _, l := range simd.Levels() {
			for _, dt := range types {
				for _, b := range []backend.Layout{8, 16} {
					checkReorder(t, l, dt, s, b, nil)
					checkReorder(t, l, dt, s, b, team)
				}
			}
		}
	}
}

func checkReorder(t *testing.T, l simd.Level, dt tensor.DType, s tensor.Shape, b backend.Layout, team *backend.Team) {
	t.Helper()
	size := dt.Bits() / 8
	plain := make([]byte, backend.RowMajor.Bytes(dt, s))
	for i := range plain {
		plain[i] = byte(i*7 + i>>8 + 1)
	}
	got := make([]byte, b.Bytes(dt, s))
	for i := range got {
		got[i] = 0xff
	}
	reorderOnce(t, l, dt, s, 0, b, plain, got, team)
	if want := blockedBytes(plain, s, int(b), size); string(got) != string(want) {
		t.Fatalf("%v %v%v to blocked %d, %d workers: got other bytes than the layout has", l, dt, s, b, team.Size())
	}
	back := make([]byte, len(plain))
	reorderOnce(t, l, dt, s, b, 0, got, back, team)
	if string(back) != string(plain) {
		t.Fatalf("%v %v%v from blocked %d, %d workers: got other bytes than went in", l, dt, s, b, team.Size())
	}
}

func reorderOnce(t *testing.T, l simd.Level, dt tensor.DType, s tensor.Shape, from, to backend.Layout, in, out []byte,
	team *backend.Team) {
	t.Helper()
	k, ok := Reorder(l, dt, s, from, to, team.Size())
	if !ok {
		t.Fatalf("%v%v from %v to %v: no kernel", dt, s, from, to)
	}
	c := &backend.Call{In: []backend.View{{DType: dt, Shape: s, Data: in}},
		Out: []backend.View{{DType: dt, Shape: s, Data: out}}, Team: team}
	if err := k.Kernel(c); err != nil {
		t.Fatal(err)
	}
}

// blockedBytes is the definition of the layout, with zeros where no channel is.
func blockedBytes(plain []byte, s tensor.Shape, b, size int) []byte {
	area := 1
	for _, d := range s[2:] {
		area *= int(d)
	}
	channels := int(s[1])
	blocks := (channels + b - 1) / b
	out := make([]byte, int(s[0])*blocks*area*b*size)
	for n := range int(s[0]) {
		for ch := range channels {
			for p := range area {
				to := ((n*blocks+ch/b)*area+p)*b + ch%b
				from := (n*channels+ch)*area + p
				copy(out[to*size:(to+1)*size], plain[from*size:])
			}
		}
	}
	return out
}

func BenchmarkReorder(b *testing.B) {
	for _, s := range []tensor.Shape{{1, 64, 56, 56}, {1, 24, 112, 112}, {1, 3, 224, 224}, {1, 512, 7, 7}} {
		for _, l := range simd.Levels() {
			layout := backend.Layout(l.Block())
			in := make([]byte, layout.Bytes(tensor.Float32, s))
			out := make([]byte, len(in))
			for _, way := range [][2]backend.Layout{{0, layout}, {layout, 0}} {
				k, _ := Reorder(l, tensor.Float32, s, way[0], way[1], 1)
				b.Run(fmt.Sprintf("%v/%v to %v/%v", s, way[0], way[1], l), func(b *testing.B) {
					n := backend.RowMajor.Bytes(tensor.Float32, s)
					b.SetBytes(n + int64(len(in)))
					c := &backend.Call{In: []backend.View{{Data: in}}, Out: []backend.View{{Data: out}}}
					for b.Loop() {
						if err := k.Kernel(c); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
