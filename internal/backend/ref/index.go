package ref

var indexKernels = []entry{}
