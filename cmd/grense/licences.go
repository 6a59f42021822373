package main

import thirdparty "grense/THIRD_PARTY"

type licencesCmd struct{}

func (licencesCmd) Run(p *process) error { return thirdparty.Write(p.Stdout) }
