package op

import "github.com/stowage-ml/stowage/tensor"

func (c *Ctx) oneType(inputs ...int) (tensor.DType, error) {
	dt := tensor.Undefined
	for _, i := range inputs {
		switch got := c.Arg(i).DType; {
		case got == tensor.Undefined || got == dt:
		case dt == tensor.Undefined:
			dt = got
		default:
			return dt, c.Errf("input %d: got %v, want %v like the inputs before it", i, got, dt)
		}
	}
	return dt, nil
}
