package ref

var matmulKernels = []entry{}
