package server

import "grense/internal/store"

// SoapPath is the path of the place-name service below a mount.
const SoapPath = "/soap/stedsnavn/v1"

// HasRegister reports whether the data have a place-name register.
func (c *Call) HasRegister() bool { return holdsRegister(c.Catalog) }

func holdsRegister(cat *store.Catalog) bool {
	coll, ok := cat.Collection("skrivemaate")
	return ok && len(coll.Relations) > 0
}
