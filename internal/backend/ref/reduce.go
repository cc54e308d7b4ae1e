package ref

var reduceKernels = []entry{}
