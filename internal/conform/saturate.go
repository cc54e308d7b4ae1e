package conform

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// Saturating is a backend whose matrix products of uint8 by int8 sum pairs of products in 16
// bits, as the x86 instruction vpmaddubsw does: how references are made on machines without
// VNNI. It tells a wrong kernel from a reference that is not exact.
type Saturating struct{ backend.Backend }

// Candidates returns the saturating product where there is one, else the backend's own kernels.
func (s Saturating) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	if o.Node.Op != "MatMulInteger" || o.Arg(0).DType != tensor.Uint8 || o.Arg(1).DType != tensor.Int8 ||
		len(o.In[1].Shape) != 2 {
		return s.Backend.Candidates(o)
	}
	k, n := int(o.In[1].Shape[0]), int(o.In[1].Shape[1])
	kernel := func(c *backend.Call) error {
		if k == 0 || len(c.In) < 4 || len(c.In[2].Data) != 1 || len(c.In[3].Data) != 1 {
			return fmt.Errorf("conform: MatMulInteger: want one zero point for each operand")
		}
		a, b := c.In[0].Data, tensor.Cast[int8](c.In[1].Data)
		za, zb := int32(c.In[2].Data[0]), int32(int8(c.In[3].Data[0]))
		out := tensor.Cast[int32](c.Out[0].Data)
		for i := range len(a) / k {
			for j := range n {
				out[i*n+j] = saturatedDot(a[i*k:][:k], b[j:], n, za, zb)
			}
		}
		return nil
	}
	return []backend.Candidate{{Name: "saturating", Source: "go", Kernel: kernel}}, nil
}

// saturatedDot returns Σ(a−za)(b−zb), where b has a stride and the raw products are summed in
// pairs that saturate.
func saturatedDot(a []uint8, b []int8, stride int, za, zb int32) int32 {
	var sum, sumA, sumB int32
	for k := 0; k < len(a); k += 2 {
		pair := int32(0)
		for l := k; l < min(k+2, len(a)); l++ {
			x, y := int32(a[l]), int32(b[l*stride])
			pair += x * y
			sumA += x
			sumB += y
		}
		sum += min(max(pair, -1<<15), 1<<15-1)
	}
	return sum - za*sumB - zb*sumA + int32(len(a))*za*zb
}
