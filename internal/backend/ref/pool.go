package ref

var poolKernels = []entry{}
