package ref

var convKernels = []entry{}
