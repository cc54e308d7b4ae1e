package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// wildInts, wildStrs and wildFloats are attributes that operators of these families know.
var (
	wildInts = strings.Fields(`axis keepdims k largest sorted batch_dims exclusive reverse select_last_index
		noop_with_empty_axes align_corners antialias exclude_outside output_height output_width sampling_ratio
		ignore_index inverse onesided periodic output_datatype is_causal q_num_heads kv_num_heads num_heads
		qk_matmul_output_mode interleaved rotary_embedding_dim center_point_box`)
	wildLists = strings.Fields(`axes pooled_shape strides pads dilations`)
	wildStrs  = map[string][]string{
		"reduction":                      {"none", "add", "mul", "max", "sum", "mean"},
		"mode":                           {"nearest", "linear", "cubic", "avg", "max", "circular"},
		"coordinate_transformation_mode": {"half_pixel", "align_corners", "tf_crop_and_resize", "asymmetric"},
		"keep_aspect_ratio_policy":       {"stretch", "not_larger", "not_smaller"},
		"padding_mode":                   {"zeros", "border", "reflection"},
		"equation":                       {"ij,jk->ik", "ii->i", "...i,i", "i,i", "ij->"},
	}
	wildTypes = []tensor.DType{tensor.Float32, tensor.Int64, tensor.Float64, tensor.Float16, tensor.Int32, tensor.Bool,
		tensor.Uint8, tensor.String}
)

// wildNode makes a node with some of the attributes, with values that may be wrong.
func wildNode(r *rand.Rand, name string) *graph.Node {
	var attrs []graph.Attr
	small := func() int64 { return int64(r.IntN(8)) - 3 }
	for _, a := range wildInts {
		if r.IntN(4) == 0 {
			attrs = append(attrs, attrInt(a, small()))
		}
	}
	for _, a := range wildLists {
		if r.IntN(4) == 0 {
			list := make([]int64, r.IntN(4))
			for i := range list {
				list[i] = small()
			}
			attrs = append(attrs, attrInts(a, list...))
		}
	}
	for _, a := range []string{"reduction", "mode", "coordinate_transformation_mode", "keep_aspect_ratio_policy",
		"padding_mode", "equation"} {
		if r.IntN(3) > 0 {
			attrs = append(attrs, attrStr(a, wildStrs[a][r.IntN(len(wildStrs[a]))]))
		}
	}
	return at([]int{7, 10, 11, 13, 18, 20, 24}[r.IntN(7)], outs(1+r.IntN(4), node(name, attrs...)))
}

// wildTensor makes a small tensor of the first type that the kernel takes, or of any.
func wildTensor(r *rand.Rand, want types, shape tensor.Shape) *tensor.Tensor {
	dt := wildTypes[r.IntN(len(wildTypes))]
	for _, d := range wildTypes {
		if want.has(d) && !want.has(dt) && r.IntN(20) > 0 {
			dt = d
		}
	}
	t, err := tensor.Zeros(dt, shape)
	if err != nil {
		panic(err)
	}
	v := backend.ViewOf(t)
	wild := []float64{0, 1, 2, 3, -1, -2, 0.5, 7, math.NaN(), math.Inf(1), -1e30, 1e18}
	for i := range t.Len() {
		switch x := wild[r.IntN(len(wild))]; {
		case numbers.has(dt):
			setNumber(&v, i, x)
		case dt == tensor.String:
			t.Strings()[i] = fmt.Sprint(x)
		default:
			t.Bytes()[i] = byte(r.IntN(2))
		}
	}
	return t
}

// wildShape makes a shape, mostly one that fits the last.
func wildShape(r *rand.Rand, last tensor.Shape) tensor.Shape {
	switch r.IntN(6) {
	case 0, 1:
		return last.Clone()
	case 2:
		return last[:r.IntN(len(last)+1)].Clone()
	}
	shape := make(tensor.Shape, r.IntN(5))
	for i := range shape {
		shape[i] = []int64{2, 2, 2, 2, 4, 4, 1, 1, 3, 0}[r.IntN(10)]
	}
	return shape
}

// runWild does what a session does with a node: infer, prepare, run. It reports how far it came.
func runWild(t *testing.T, n *graph.Node, in []*tensor.Tensor) (stage string) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s %v of %v: panic: %v", n.Op, n.Attrs, in, p)
		}
	}()
	for i := range in {
		n.Inputs = append(n.Inputs, graph.ValueID(i))
	}
	row := op.Lookup("", n.Op)
	if len(in) < row.In.Min || row.In.Max >= 0 && len(in) > row.In.Max {
		return "arity"
	}
	for _, contents := range []bool{false, true} {
		if _, err := infer(n, row, in, contents); err != nil {
			return "infer"
		}
	}
	facts, _ := infer(n, row, in, true)
	o := backend.Op{Node: n, In: make([]backend.Arg, len(in)), Out: make([]backend.Arg, len(facts))}
	for i, x := range in {
		o.In[i] = backend.Arg{DType: x.DType(), Shape: x.Shape()}
		if slices.Contains(row.Contents, i) {
			o.In[i].Const = x
		}
	}
	for i := range facts {
		o.Out[i].DType = facts[i].DType
		s, ok := facts[i].Shape.Concrete()
		if total, valid := s.Elements(); !valid || total > 1<<16 {
			return "size"
		}
		if ok {
			o.Out[i].Shape = s
		} else if !row.Dynamic {
			return "shape"
		}
	}
	cands, err := Backend{}.Candidates(&o)
	if err != nil || len(cands) == 0 {
		return "prepare"
	}
	if _, err := call(n, row, cands[0].Kernel, rubbish(cands[0].Scratch), in, facts); err != nil {
		return "run"
	}
	return "done"
}

// wildRuns is how many nodes of each operator are tried.
const wildRuns = 400

// TestWildNodesDoNotPanic runs nodes whose attributes, shapes and contents are drawn at random.
func TestWildNodesDoNotPanic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	done := map[string]int{}
	for _, family := range [][]entry{indexKernels, resizeKernels, reduceKernels, lossKernels, signalKernels,
		attentionKernels} {
		for _, e := range family {
			if e.domain != "" {
				continue
			}
			for range wildRuns {
				var shape tensor.Shape
				in := make([]*tensor.Tensor, 1+r.IntN(5))
				for i := range in {
					shape = wildShape(r, shape)
					in[i] = wildTensor(r, e.types[min(i, len(e.types)-1)], shape)
				}
				if runWild(t, wildNode(r, e.op), in) == "done" {
					done[e.op]++
				}
			}
		}
	}
	t.Log(done)
}
