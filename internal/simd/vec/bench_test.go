package vec

import (
	"fmt"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// BenchmarkFunctions works on operands that stay in the first-level cache.
func BenchmarkFunctions(b *testing.B) {
	x, dst := make([]float32, 1024), make([]float32, 1024)
	for i := range x {
		x[i] = float32(i%200)/20 - 5
	}
	for _, l := range simd.Levels() {
		f := For(l)
		run := func(name string, g func()) {
			b.Run(fmt.Sprintf("%s/%v", name, l), func(b *testing.B) {
				b.SetBytes(4 * int64(len(x)))
				for b.Loop() {
					g()
				}
			})
		}
		for name, u := range map[string]Unary{"exp": Exp, "log": Log, "tanh": Tanh, "sigmoid": Sigmoid, "erf": Erf, "gelu": Gelu,
			"relu": Relu, "hardswish": HardSwish, "swish": Swish} {
			run(name, func() { f.Unary[u](dst, x, 1, 0.5) })
		}
		run("add", func() { f.VV[Add](dst, x, x) })
		run("div", func() { f.VV[Div](dst, x, x) })
		run("sum", func() { f.Sum(x) })
		run("max", func() { f.MaxOf(x) })
		run("expsum", func() { f.ExpSum(dst, x, 5) })
		run("norm", func() { f.Norm(dst, x, x, x, 1, 2) })
	}
}
