package testkit

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/stowage-ml/stowage/tensor"
)

// Big is a chain of MatMul layers whose weights have total bytes, rounded down to whole columns:
// input [batch,D], output [batch,E]. Every weight but the last is D×D. It is written without
// being held in memory. total is at least 4096.
func Big(total int64, seed uint64) *Model {
	b := newNet(13, seed)
	b.Name = "big"
	d := bigWidth(total)
	x := b.Input("input", tensor.Float32, "batch", d)
	for i := 0; ; i++ {
		cols := min(d, total/(4*d))
		total -= cols * 4 * d
		w := b.fast(fmt.Sprintf("layer%d.weight", i), d, cols)
		name := fmt.Sprintf("/layer%d/MatMul", i)
		if total < 4*d {
			b.Node("MatMul", []string{x, w}, Named(name), Outs("output"))
			b.Output("output", tensor.Float32, "batch", cols)
			return b.Model
		}
		x = b.Node("MatMul", []string{x, w}, Named(name), Outs(name+"_output_0"))
	}
}

// bigWidth returns the largest power of two, at most 4096, of which at least four square layers
// fit.
func bigWidth(total int64) int64 {
	d := int64(16)
	for d < 4096 && 4*(4*d*d)*4 <= total {
		d *= 2
	}
	return d
}

// fast adds a d×cols weight, uniform with variance 1/d, at two values for each random number.
func (b *net) fast(name string, d, cols int64) string {
	scale := float32(math.Sqrt(12/float64(d)) / (1 << 32))
	seed := b.seed
	for _, c := range []byte(name) {
		seed = seed*31 + uint64(c)
	}
	return b.InitLazy(name, tensor.Float32, tensor.Shape{d, cols}, func(w io.Writer) error {
		r := rand.NewPCG(seed, uint64(cols))
		buf := make([]float32, d)
		for range cols {
			for i := 0; i < len(buf); i += 2 {
				u := r.Uint64()
				buf[i] = float32(int32(u)) * scale
				buf[i+1] = float32(int32(u>>32)) * scale
			}
			if _, err := w.Write(tensor.Of(buf...).Bytes()); err != nil {
				return err
			}
		}
		return nil
	})
}
