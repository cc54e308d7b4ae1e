package simplify_test

import (
	"bytes"
	"fmt"
	"testing"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simplify"
	"github.com/stowage-ml/stowage/tensor"
)

// folded simplifies a graph to its first output, and computes the same by the kernels.
func folded(t *testing.T, text string) (got, want *tensor.Tensor) {
	t.Helper()
	g := parse(t, text)
	out := simple(t, g, simplify.Limits{})
	if len(out.Nodes) != 0 {
		t.Fatalf("got %d nodes left, want 0, of:\n%s", len(out.Nodes), text)
	}
	n := g.Nodes[0]
	in := make([]*tensor.Tensor, len(n.Inputs))
	for i, v := range n.Inputs {
		in[i] = g.Values[v].Const
	}
	ref, err := eval(n, in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Values[out.Outputs[0]].Const, ref[0]
}

func same(t *testing.T, text string) {
	t.Helper()
	got, want := folded(t, text)
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("got %v %v, want %v %v, of:\n%s", got, got.Bytes(), want, want.Bytes(), text)
	}
}

const sixRows = "const a = int32[6, 2] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]"

func TestSlicesOfConstantsAreWhatTheKernelsSay(t *testing.T) {
	numbers := []int64{-9, -6, -3, -1, 0, 1, 2, 5, 6, 7, 100}
	for _, s := range numbers {
		for _, e := range numbers {
			for _, axis := range []int64{0, 1, -1, -2} {
				for _, step := range []int64{1, 2, -1} {
					same(t, body(sixRows, fmt.Sprintf("const s = int64[1] [%d]", s), fmt.Sprintf("const e = int64[1] [%d]", e),
						fmt.Sprintf("const x = int64[1] [%d]", axis), fmt.Sprintf("const k = int64[1] [%d]", step),
						"y = Slice@13(a, s, e, x, k)", "out y"))
				}
			}
		}
	}
	same(t, body(sixRows, "const s = int64[2] [2, 0]", "const e = int64[2] [4, 9]", "y = Slice@13(a, s, e)", "out y"))
	same(t, body(sixRows, "const s = int64[2] [2, 1]", "const e = int64[2] [4, 9]", "y = Slice@13(a, s, e)", "out y"))
	same(t, body(sixRows, "const s = int64[2] [0, 1]", "const e = int64[2] [9, 3]", "const x = int64[2] [1, 0]",
		"y = Slice@13(a, s, e, x)", "out y"))
}

func TestSlicesOfRowsTakeNoMemory(t *testing.T) {
	g := parse(t, body(sixRows, "const s = int64[1] [-4]", "const e = int64[1] [5]", "y = Slice@13(a, s, e)", "out y"))
	out := simple(t, g, simplify.Limits{})
	from := g.Values[g.Nodes[0].Inputs[0]].Const
	if at := unsafe.SliceData(out.Values[out.Outputs[0]].Const.Bytes()); at != &from.Bytes()[2*8] {
		t.Error("got memory of its own, want the constant's")
	}
}

func TestConcatenationsOfConstantsAreWhatTheKernelsSay(t *testing.T) {
	for _, shapes := range [][2]string{{"1, 2", "1, 3"}, {"2, 1", "3, 1"}, {"2, 3", "4, 3"}, {"2, 3", "2, 1"},
		{"1, 0", "1, 3"}} {
		a, b := filledConst("a", shapes[0], 1), filledConst("b", shapes[1], 100)
		for _, axis := range []int{0, 1, -1, -2} {
			text := body(a, b, fmt.Sprintf("y = Concat@13(a, b, a; axis=%d)", axis), "out y")
			var m, n, p, q int
			fmt.Sscanf(shapes[0]+" "+shapes[1], "%d, %d %d, %d", &m, &n, &p, &q)
			if along := (axis + 2) % 2; along == 0 && n != q || along == 1 && m != p {
				continue
			}
			same(t, text)
		}
	}
}

// filledConst declares a constant of consecutive numbers.
func filledConst(name, shape string, first int) string {
	var m, n int
	fmt.Sscanf(shape, "%d, %d", &m, &n)
	list := ""
	for i := range m * n {
		if i > 0 {
			list += ", "
		}
		list += fmt.Sprint(first + i)
	}
	return fmt.Sprintf("const %s = int64[%s] [%s]", name, shape, list)
}
