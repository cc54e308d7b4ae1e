package ref

var resizeKernels = []entry{}
