package ref

import (
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// chance draws operands and attributes that are mostly wrong.
type chance struct{ *rand.Rand }

func (r chance) shape(rank int) tensor.Shape {
	s := make(tensor.Shape, rank)
	for i := range s {
		s[i] = int64(r.IntN(4))
		if r.IntN(4) > 0 {
			s[i] = max(s[i], 1)
		}
	}
	return s
}

func (r chance) tensor(rank int) *tensor.Tensor {
	types := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float16, tensor.Uint8, tensor.Int8,
		tensor.Int32, tensor.Int64, tensor.Int4, tensor.Float8E5M2}
	x, err := tensor.Zeros(types[r.IntN(len(types))], r.shape(rank))
	if err != nil {
		panic(err)
	}
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(r.IntN(4))
	}
	return x
}

func (r chance) int() int64 {
	extremes := []int64{-1 << 63, 1<<63 - 1, 1 << 31, -7, 257}
	if r.IntN(20) == 0 {
		return extremes[r.IntN(len(extremes))]
	}
	return int64(r.IntN(6) - 1)
}

func (r chance) attrs() []graph.Attr {
	var out []graph.Attr
	if r.IntN(2) == 0 {
		return []graph.Attr{attrInts("kernel_shape", 1, 1), attrInt("num_groups", 1), attrInt("size", 1)}
	}
	for _, name := range []string{"kernel_shape", "strides", "dilations", "pads", "output_padding", "output_shape",
		"axes"} {
		if r.IntN(2) == 0 {
			continue
		}
		vs := make([]int64, r.IntN(5))
		for i := range vs {
			vs[i] = r.int()
		}
		out = append(out, attrInts(name, vs...))
	}
	for _, name := range []string{"group", "axis", "block_size", "output_dtype", "num_groups", "size", "p", "layout",
		"hidden_size", "ceil_mode", "transA", "transB", "offset_group", "spatial", "stash_type", "training_mode",
		"count_include_pad", "storage_order", "linear_before_reset"} {
		if r.IntN(4) == 0 {
			out = append(out, attrInt(name, r.int()))
		}
	}
	modes := []string{"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", "?"}
	directions := []string{"forward", "reverse", "bidirectional", "?"}
	if r.IntN(4) == 0 {
		out = append(out, attrStr("auto_pad", modes[r.IntN(len(modes))]), attrStr("direction", directions[r.IntN(4)]))
	}
	return out
}

func TestWhateverTheOperandsNothingPanics(t *testing.T) {
	r := chance{rand.New(rand.NewPCG(1, 2))}
	passed := map[string]int{}
	for _, es := range [][]entry{convKernels, poolKernels, matmulKernels, normKernels, recurrentKernels, quantKernels} {
		for _, e := range es {
			row := op.Lookup("", e.op)
			for range 300 {
				rank := r.IntN(5)
				in := make([]*tensor.Tensor, row.In.Min+r.IntN(row.In.Max-row.In.Min+1))
				first := r.tensor(rank)
				for i := range in {
					if in[i] = r.tensor(r.IntN(5)); r.IntN(3) > 0 {
						in[i] = first
					}
				}
				n := outs(max(row.Out.Min, 1)+r.IntN(row.Out.Max-max(row.Out.Min, 1)+1), node(e.op, r.attrs()...))
				n.Version = 7 + r.IntN(20)
				if _, err := attempt(t, n, in...); err == nil {
					passed[e.op]++
				}
			}
		}
	}
	for _, op := range []string{"Conv", "MaxPool", "MatMul", "Gemm", "BatchNormalization", "LRN", "DequantizeLinear"} {
		if passed[op] == 0 {
			t.Errorf("%s: nothing drawn was right", op)
		}
	}
}
