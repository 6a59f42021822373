package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return `Examples:
  grense completion bash > /etc/bash_completion.d/grense
  grense completion fish > ~/.config/fish/completions/grense.fish`
}

func (c completionCmd) Run(p *process, k *kong.Context) error {
	var b strings.Builder
	switch c.Shell {
	case "bash":
		bashCompletion(&b, k.Model.Node)
	case "zsh":
		b.WriteString("#compdef grense\nautoload -U +X bashcompinit && bashcompinit\n")
		bashCompletion(&b, k.Model.Node)
	case "fish":
		fishCompletion(&b, k.Model.Node)
	default:
		return errors.New("unknown shell; write bash, zsh or fish")
	}
	_, err := io.WriteString(p.Stdout, b.String())
	return err
}

// commands calls fn with each command below node. path is its full name, such as "key create".
func commands(node *kong.Node, path string, fn func(path string, node *kong.Node)) {
	fn(path, node)
	for _, child := range node.Children {
		if child.Type == kong.CommandNode && !child.Hidden {
			commands(child, strings.TrimSpace(path+" "+child.Name), fn)
		}
	}
}

// words returns the words that may follow a command: its subcommands and flags.
func words(node *kong.Node) (list []string) {
	for _, child := range node.Children {
		if child.Type == kong.CommandNode && !child.Hidden {
			list = append(list, child.Name)
		}
	}
	for _, f := range node.Flags {
		list = append(list, "--"+f.Name)
	}
	return list
}

func bashCompletion(b *strings.Builder, root *kong.Node) {
	b.WriteString("_grense() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\" path=\"\" words=\"\" w\n" +
		"  for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$path $w\" in\n")
	commands(root, "", func(path string, node *kong.Node) {
		if path == "" {
			return
		}
		parent := strings.TrimSuffix(strings.TrimSuffix(path, node.Name), " ")
		fmt.Fprintf(b, "      %q) path=%q ;;\n", parent+" "+node.Name, path)
	})
	b.WriteString("    esac\n  done\n  case \"$path\" in\n")
	commands(root, "", func(path string, node *kong.Node) {
		fmt.Fprintf(b, "    %q) words=%q ;;\n", path, strings.Join(words(node), " "))
	})
	b.WriteString("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F " +
		"_grense grense\n")
}

func fishCompletion(b *strings.Builder, root *kong.Node) {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	commands(root, "", func(path string, node *kong.Node) {
		when := "__fish_use_subcommand"
		if path != "" {
			seen := "__fish_seen_subcommand_from "
			when = seen + strings.Join(strings.Fields(path), "; and "+seen)
		}
		for _, child := range node.Children {
			if child.Type == kong.CommandNode && !child.Hidden {
				fmt.Fprintf(b, "complete -c grense -n %s -a %s -d %s\n", quote(when), child.Name, quote(child.Help))
			}
		}
		for _, f := range node.Flags {
			value := " -r"
			if f.IsBool() {
				value = ""
			}
			fmt.Fprintf(b, "complete -c grense -n %s -l %s%s -d %s\n", quote(when), f.Name, value, quote(f.Help))
		}
	})
}

type manCmd struct{}

// Run prints the manual page grense(1) in the format of man(7).
func (manCmd) Run(p *process, k *kong.Context) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH GRENSE 1 \"\" \"grense %s\" \"User Commands\"\n.SH NAME\ngrense \\- serve administrative "+
		"divisions and place names\n", programVersion())
	b.WriteString(".SH SYNOPSIS\n.B grense\n.I COMMAND\n[ARGUMENTS] [FLAGS]\n.SH DESCRIPTION\n" + roff(k.Model.Help))
	commands(k.Model.Node, "", func(path string, node *kong.Node) {
		if path == "" {
			return
		}
		fmt.Fprintf(&b, ".SH GRENSE %s\n%s", strings.ToUpper(path), roff(node.Help))
		for _, a := range node.Positional {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s", strings.ToUpper(a.Name), roff(a.Help))
		}
		for _, f := range node.Flags {
			value := ""
			if !f.IsBool() {
				value = "=" + f.FormatPlaceHolder()
			}
			fmt.Fprintf(&b, ".TP\n.B \\-\\-%s%s\n%s", strings.ReplaceAll(f.Name, "-", `\-`), value, roff(f.Help))
		}
		if node.Detail != "" {
			b.WriteString(".PP\n" + roff(node.Detail))
		}
	})
	_, err := io.WriteString(p.Stdout, b.String())
	return err
}

// roff escapes text for man(7). It keeps the line breaks of indented lines.
func roff(text string) string {
	var b strings.Builder
	example := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != example {
			example = indented
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[example])
		}
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
		switch {
		case line == "":
			line = ".PP"
		case line[0] == '.' || line[0] == '\'':
			line = `\&` + line
		}
		b.WriteString(line + "\n")
	}
	if example {
		b.WriteString(".fi\n")
	}
	return b.String()
}
