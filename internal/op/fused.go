package op

// Domain is that of the operators that passes make; no file's nodes are in it.
const Domain = "stowage"
