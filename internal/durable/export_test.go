package durable

// WithFault plants a fault by name.
func WithFault(o Options, name string) Options {
	o.fault = fault(name)
	return o
}
