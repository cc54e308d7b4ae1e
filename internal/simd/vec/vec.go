// Package vec is functions of slices of float32, element by element or folded to one number, for
// each vector level. Lengths are in elements. A result may overwrite an operand that starts at the
// same element; operands that overlap in any other way give rubbish. A NaN in an element of an
// operand is a NaN in that element of the result, unless the function says otherwise; the sign
// of a zero that Min and Max find between zeros of both signs is not defined.
package vec

import "github.com/stowage-ml/stowage/internal/simd"

// Pattern is an operand that repeats every 16 elements: a number for all of them, or one for each
// channel of a block.
type Pattern = [16]float32

// Fill makes every element of a pattern x.
func Fill(p *Pattern, x float32) {
	for i := range p {
		p[i] = x
	}
}

// Unary names a function of one operand x and two parameters a and b, most of which use none.
type Unary uint8

// The functions of one operand. ULP is the largest difference to the exact value, in units of the
// last place of the result, that any level has; where there is none it is a half. Negative
// arguments of functions that have no value there give NaN.
const (
	// Neg is −x, Abs |x|, Square x·x, Reciprocal 1/x, Sign −1, 0, 1 or NaN.
	Neg Unary = iota
	Abs
	Square
	Sqrt
	Reciprocal
	Sign
	// Floor and Ceil are the next integers, Round the nearest (of two the even one).
	Floor
	Ceil
	Round
	// Exp is within 2 ULP, Log within 2.
	Exp
	Log
	// Tanh is within 4 ULP, Sigmoid (1/(1+e⁻ˣ)) within 4, Erf within 4.
	Tanh
	Sigmoid
	Erf
	// Relu is 0 where x < 0; LeakyRelu is a·x there.
	Relu
	LeakyRelu
	// Clip is a where x < a, then b where x > b.
	Clip
	// HardSigmoid is a·x+b within [0, 1], HardSwish x times that.
	HardSigmoid
	HardSwish
	// Swish is x·Sigmoid(a·x).
	Swish
	// Elu is b·x for x ≥ 0, and a·(eˣ−1) for x < 0; Celu is a·(eᵇˣ−1) for x < 0, with x above. Both
	// are within 4 ULP.
	Elu
	Celu
	// Softplus is log(1+eˣ), Mish x·tanh(Softplus(x)), Softsign x/(1+|x|). Swish and Mish are within 6
	// ULP, or 2⁻¹¹⁹.
	Softplus
	Softsign
	Mish
	// Gelu is x/2·(1+Erf(x/√2)), GeluTanh its approximation x/2·(1+Tanh(√(2/π)·(x+0.044715·x³))).
	// Their error is within 2⁻²²·|x|.
	Gelu
	GeluTanh
	// Threshold is x where x > a, else 0. Shrink is x+b where x < −a, x−b where x > a, else 0.
	Threshold
	Shrink
	// Affine is x·a+b, rounded twice; Standardize (x−a)·b.
	Affine
	Standardize
	// Sin, Cos and what follows are those of package math, rounded.
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Asinh
	Acosh
	Atanh
	// NumUnary is their number.
	NumUnary
)

// Series reports whether the function takes many operations for each element.
func (f Unary) Series() bool {
	switch f {
	case Exp, Log, Tanh, Sigmoid, Erf, Swish, Elu, Celu, Softplus, Mish, Gelu, GeluTanh:
		return true
	}
	return f >= Sin
}

// Binary names a function of two operands x and y.
type Binary uint8

// The functions of two operands.
const (
	Add Binary = iota
	Sub
	Mul
	Div
	// Min and Max are NaN where either operand is.
	Min
	Max
	// AtLeast is y where x < y, else x; AtMost is y where x > y, else x.
	AtLeast
	AtMost
	// Pow is x to the power y.
	Pow
	// PRelu is x·y where x < 0, else x.
	PRelu
	// And is the bits of x where those of y are set.
	And
	// NumBinary is their number.
	NumBinary
)

// Funcs is the functions of one level. Where several operands have a length, the first (the
// result, if there is one) counts and the others have at least as many elements.
type Funcs struct {
	Unary [NumUnary]func(dst, x []float32, a, b float32)
	// VV has two vectors, VP a vector and a pattern, PV a pattern and a vector.
	VV [NumBinary]func(dst, x, y []float32)
	VP [NumBinary]func(dst, x []float32, y *Pattern)
	PV [NumBinary]func(dst []float32, x *Pattern, y []float32)
	// MulAdd is x·y+z, rounded twice; MulAddP has patterns for y and z.
	MulAdd  func(dst, x, y, z []float32)
	MulAddP func(dst, x []float32, y, z *Pattern)
	// Sum, SumAbs, SumSquares (of x−a) and Dot add up in an order that depends on the length alone.
	Sum        func(x []float32) float32
	SumAbs     func(x []float32) float32
	SumSquares func(x []float32, a float32) float32
	Dot        func(x, y []float32) float32
	// MaxOf and MinOf are those of the elements: NaN if one is; ∓Inf of none.
	MaxOf func(x []float32) float32
	MinOf func(x []float32) float32
	// ExpSum sets dst to e^(x−a) and returns its sum.
	ExpSum func(dst, x []float32, a float32) float32
	// Norm is (x−a)·b·y+z, rounded after each step; RMSNorm is x·b·y.
	Norm    func(dst, x, y, z []float32, a, b float32)
	RMSNorm func(dst, x, y []float32, b float32)
}

// For returns the functions of a level that the machine has.
func For(l simd.Level) *Funcs {
	if f := assembled(l); f != nil {
		return f
	}
	return &generic
}
