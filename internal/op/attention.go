package op

var attentionRows = []Row{}
