package ref

var attentionKernels = []entry{}
