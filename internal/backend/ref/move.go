package ref

var moveKernels = []entry{}
