package engine

// maxDepth bounds how deep runs may be nested: state that names itself as its own child
// must come to an end.
const maxDepth = 4
