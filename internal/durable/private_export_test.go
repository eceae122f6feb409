package durable

// UpdatePrivateOn is UpdatePrivate on any disk.
var UpdatePrivateOn = updatePrivate
