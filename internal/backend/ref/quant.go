package ref

var quantKernels = []entry{}
