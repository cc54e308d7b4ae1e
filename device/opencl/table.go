package opencl

// makers are the kernels of operators that are not elementwise.
var makers = map[string]*family{
	"Reshape": copies, "Flatten": copies, "Squeeze": copies, "Unsqueeze": copies,
	"MatMul": products, "Gemm": {"gemm", makeGemm, 0.5, 0.5},
	"Conv": {"conv", makeConv, 0.3, 0.3}, "ConvTranspose": {"conv-transpose", makeConv, 0.01, 0.1},
	"MaxPool": pools, "AveragePool": pools,
	"GlobalAveragePool": globalPools, "GlobalMaxPool": globalPools,
	"ReduceSum": reduces, "ReduceMean": reduces, "ReduceMax": reduces, "ReduceMin": reduces, "ReduceProd": reduces,
	"ReduceL1": reduces, "ReduceL2": reduces, "ReduceSumSquare": reduces, "ReduceLogSum": reduces,
	"Softmax": softmaxes, "LogSoftmax": softmaxes,
	"LayerNormalization": layerNorms, "RMSNormalization": layerNorms,
	"InstanceNormalization": {"instance-norm", makeInstanceNorm, 0.05, 0.2},
	"BatchNormalization":    {"batch-norm", makeBatchNorm, 0.1, 0.5},
	"Transpose":             {"transpose", makeTranspose, 0.1, 0.3},
	"Expand":                {"expand", makeExpand, 0.1, 0.5},
	"Slice":                 {"slice", makeSlice, 0.1, 0.5},
	"Concat":                {"concat", makeConcat, 0.1, 0.5},
	"Split":                 {"split", makeSplit, 0.1, 0.5},
	"Gather":                {"gather", makeGather, 0.1, 0.3},
	"Resize":                resizes, "Upsample": resizes,
	"Pad": {"pad", makePad, 0.05, 0.2},
}

var (
	resizes     = &family{"resize", makeResize, 0.05, 0.3}
	copies      = &family{"copy", makeCopy, 0.1, 0.6}
	products    = &family{"gemm", makeMatMul, 0.5, 0.5}
	pools       = &family{"pool", makePool, 0.05, 0.2}
	globalPools = &family{"global-pool", makeGlobalPool, 0.05, 0.3}
	reduces     = &family{"reduce", makeReduce, 0.05, 0.2}
	softmaxes   = &family{"softmax", makeSoftmax, 0.05, 0.1}
	layerNorms  = &family{"layer-norm", makeLayerNorm, 0.05, 0.2}
)
