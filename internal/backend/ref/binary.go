package ref

var binaryKernels = []entry{}
