package main

import thirdparty "grense/THIRD_PARTY"

type licencesCmd struct{}

func (licencesCmd) Help() string {
	return `Each library has its name and its licence text.

Examples:
  grense licences
  grense licences > LICENCES.txt`
}

func (licencesCmd) Run(p *process) error { return thirdparty.Write(p.Stdout) }
