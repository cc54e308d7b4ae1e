package ref

var normKernels = []entry{}
