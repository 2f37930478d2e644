"""``completion``: a script for the shell, which calls this command again for the completions."""

from __future__ import annotations

from clawperator.app.cli import output
from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.parsing.flags import Rest, Word, switch
from clawperator.engine.errors import EngineError, ErrorCode

_BASH = """\
_clawperator() {
    local line=${COMP_LINE:0:COMP_POINT} current cut IFS=$' \\t\\n' words offered
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[${#words[@]}-1]}
    cut=${current%"${current##*[:=]}"}  # bash itself splits words at these
    IFS=$'\\n'
    offered=($(command clawperator completion --words -- "${words[@]:1}" 2>/dev/null))
    [[ " ${offered[*]} " == *:files* ]] && compopt -o default
    offered=("${offered[@]%%$'\\t'*}")
    COMPREPLY=()
    for line in "${offered[@]}"; do
        [[ $line == :files || -z $line ]] || COMPREPLY+=("${line#"$cut"}")
    done
}
complete -F _clawperator clawperator
"""
_ZSH = """\
#compdef clawperator
_clawperator() {
    local line
    local -a offered
    for line in "${(@f)$(command clawperator completion --words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == :files* ]]; then
            _files
        elif [[ -n $line ]]; then
            offered+=("${${line%%$'\\t'*}//:/\\\\:}${${line#*$'\\t'}:+:${line#*$'\\t'}}")
        fi
    done
    _describe clawperator offered
}
if [[ $funcstack[1] == _clawperator ]]; then _clawperator "$@"; else compdef _clawperator clawperator; fi
"""
_FISH = """\
function __clawperator
    set -l words (commandline -opc)
    for line in (command clawperator completion --words -- $words[2..-1] (commandline -ct) 2>/dev/null)
        if string match -q ':files*' -- $line
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c clawperator -f -a '(__clawperator)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class Completion(Command):
    usage = "bash|zsh|fish"
    notes = "Completes commands, flags and values, including serials, skill ids, run numbers and AVD names."
    examples = (
        "bash > ~/.local/share/bash-completion/completions/clawperator",
        "zsh > ~/.zfunc/_clawperator",
        "fish > ~/.config/fish/completions/clawperator.fish",
    )
    flags = (
        Word("shell", f"shell: {', '.join(SCRIPTS)}", suggest=tuple(SCRIPTS)),
        switch("--words", "print completions for the words after -- (used by the scripts)"),
        Rest("line", "the current words; the last one may be partial or empty"),
    )

    def run(self, options: Options) -> int:
        if options.words:
            from clawperator.app.cli.completions import completions

            found = completions(options.line)
            output.print_text("".join(f"{word}\t{' '.join(output.visible(about).split())}\n" for word, about in found))
        elif options.shell in SCRIPTS:
            output.print_text(SCRIPTS[options.shell])
        else:
            raise EngineError(
                ErrorCode.USAGE,
                f"completion requires one of: {', '.join(SCRIPTS)}",
                extra={"example": "clawperator completion bash"},
            )
        return 0
