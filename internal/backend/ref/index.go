package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var indexKernels = []entry{
	{op: "Gather", types: []types{anything, indices}, make: makeGather},
	{op: "GatherElements", types: []types{anything, indices}, make: makeGatherElements},
	{op: "GatherND", types: []types{anything, indices}, make: makeGatherND},
	{op: "ScatterElements", types: []types{anything, indices, anything}, make: scatterer(planScatterElements)},
	{op: "Scatter", types: []types{anything, indices, anything}, make: scatterer(planScatterElements)},
	{op: "ScatterND", types: []types{anything, indices, anything}, make: scatterer(planScatterND)},
	{op: "TensorScatter", types: []types{anything, anything, indices}, make: overwriter(1, planTensorScatter)},
	{op: "OneHot", types: []types{numbers, numbers, anything}, make: makeOneHot},
	{op: "NonZero", types: []types{numbers | bools | strs}, make: makeNonZero},
	{op: "Compress", types: []types{anything, bools}, make: makeCompress},
	{op: "TopK", types: []types{numbers, indices}, make: asFloat32(makeTopK)},
	{op: "Unique", types: []types{numbers | bools | strs}, make: makeUnique},
	{op: "CumSum", types: []types{numbers, indices}, make: asFloat32(makeCumulation)},
	{op: "CumProd", types: []types{numbers, indices}, make: asFloat32(makeCumulation)},
	{op: "NonMaxSuppression", types: []types{setOf(tensor.Float32), setOf(tensor.Float32), setOf(tensor.Int64),
		setOf(tensor.Float32)}, make: makeNonMaxSuppression},
	{domain: "ai.onnx.ml", op: "ArrayFeatureExtractor", types: []types{numbers | strs, setOf(tensor.Int64)},
		make: makeFeatures},
}

// makeFeatures picks columns of a matrix, or elements of a vector.
func makeFeatures(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	b, n, width := bandOf(shape, len(shape)-1), count(o.In[1].Shape), widthOf(o.In[0].DType)
	return run(func(c *backend.Call) error {
		for k := range n {
			at, err := within(intAt(&c.In[1], k), b.n, k)
			if err != nil {
				return err
			}
			for i := range b.outer {
				blit(&c.Out[0], i*n+k, &c.In[0], i*b.n+at, 1, width)
			}
		}
		return nil
	})
}
