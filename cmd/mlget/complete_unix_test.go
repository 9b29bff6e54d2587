//go:build unix

package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestShellCompletion runs the completion that each shell that is there makes of
// mlget's script: the tab key, pressed by a program.
func TestShellCompletion(t *testing.T) {
	shells := map[string]struct {
		script string // $1 or argv[1] is the line to complete, $2 what is to come; exit 77: something is missing
	}{
		"bash": {script: `
			# What mlget's script needs of the package bash-completion.
			source /usr/share/bash-completion/bash_completion 2>/dev/null || _get_comp_words_by_ref() {
				words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
				cur=${words[cword]} prev=${words[cword-1]}
			}
			source <(mlget completion bash)
			COMP_LINE=$1 COMP_POINT=${#1}
			read -ra COMP_WORDS <<< "$1"
			[[ $1 == *' ' ]] && COMP_WORDS+=('')
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			COMP_TYPE=9
			__start_mlget
			printf '%s\n' "${COMPREPLY[@]}"`},
		"fish": {script: `
			mlget completion fish | source
			complete -C "$argv[1]"`},
		"zsh": {script: `
			# zsh completes only at a terminal of its own.
			zmodload zsh/zpty || exit 77
			zpty Z zsh -f
			zpty -w Z "PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit && compinit -u -d $HOME/dump && source <(mlget completion zsh); echo READ''Y"
			zpty -r Z seen '*READY*'
			zpty -n -w Z "$1"$'\t\t'
			zpty -r Z seen "*$2*"
			print -r -- "$seen"
			zpty -d Z`},
	}
	for shell, c := range shells {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not there")
			}
			home := t.TempDir()
			for line, want := range map[string]string{
				"mlget --links ":               loopback(),
				"mlget --algorithm na":         "naive",
				"mlget --energy min":           "min-energy",
				"mlget sim":                    "simulate",
				"mlget simulate --scenario hi": "high-speed",
				"mlget --metrics-l":            "--metrics-listen",
			} {
				if out := complete(t, home, path, c.script, line, want); !strings.Contains(out, want) {
					t.Errorf("%q: no %s in %q", line, want, out)
				}
			}
		})
	}
}

func complete(t *testing.T, home, shell, script, line, want string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	file := filepath.Join(home, "script")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, shell, file, line, want)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "TERM=xterm")
	cmd.Dir = home
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 77 {
		t.Skipf("the shell's completion is not installed: %s", out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
