package ref

var unaryKernels = []entry{}
