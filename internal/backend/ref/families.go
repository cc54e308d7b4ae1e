package ref

// families lists the files of kernels. Adding an operator adds an entry to one of them; adding
// a family adds a line here.
var families = [][]entry{
	unaryKernels,
	randomKernels,
	binaryKernels,
	castKernels,
	shapeKernels,
	moveKernels,
	indexKernels,
	resizeKernels,
	convKernels,
	poolKernels,
	matmulKernels,
	normKernels,
	reduceKernels,
	recurrentKernels,
	quantKernels,
	lossKernels,
	signalKernels,
	attentionKernels,
	fusedKernels,
}
