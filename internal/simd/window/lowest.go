package window

import "math"

// negInf is what a maximum starts from.
var negInf = float32(math.Inf(-1))

var lowest = [block]float32{negInf, negInf, negInf, negInf, negInf, negInf, negInf, negInf}
