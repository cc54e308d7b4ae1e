package opencl

// makers are the kernels of operators that are not elementwise.
var makers = map[string]*family{
	"Reshape": copies, "Flatten": copies, "Squeeze": copies, "Unsqueeze": copies,
	"Transpose": {"transpose", makeTranspose, 0.1, 0.3},
	"Expand":    {"expand", makeExpand, 0.1, 0.5},
	"Slice":     {"slice", makeSlice, 0.1, 0.5},
	"Concat":    {"concat", makeConcat, 0.1, 0.5},
	"Split":     {"split", makeSplit, 0.1, 0.5},
	"Gather":    {"gather", makeGather, 0.1, 0.3},
	"Pad":       {"pad", makePad, 0.05, 0.2},
}

var copies = &family{"copy", makeCopy, 0.1, 0.6}
