package ref

var lossKernels = []entry{}
