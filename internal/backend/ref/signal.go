package ref

var signalKernels = []entry{}
