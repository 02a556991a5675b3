"""
Completion scripts for three shells: shtab writes them from the parsers of all commands.

Added here is what a parser does not say: which words are files and which are names. Names of pools
and machines are asked of the control plane at TAB time, by `fairlead completion --names`. What an
argument is called in --help decides: where it says POOL, pools are offered.
"""

from __future__ import annotations

from argparse import Action
from pathlib import Path

import shtab

from fairlead.cli.command_tree import actions_of, whole_parser
from fairlead.cli.completion_names import SUBJECTS
from fairlead.cli.flags import directory
from fairlead.cli.main import NAMES_GO_TO

# What an argument is called: which names are offered for it.
NAMES = {"POOL": "pools", "MACHINE": "machines", "POOL|MACHINE": SUBJECTS, "LEAF=VALUE": "leaves"}
# The same for NAME, by the command or its group. `machine fault KIND` needs no name with --next.
NAMES_IN = {"pool": "pools", "machine": "machines", "machine fault": "machines+faults"}

DIRECTORY = "DIR"

# readline takes `=` for the end of a word, so what was typed is put together again: `--flag=value`
# is a flag and its value, LEAF=VALUE is one word. compgen -W would expand the names it is given.
BASH = """
_fairlead_names() {
  local name
  while IFS= read -r name; do
    [[ $name == "$2"* ]] && printf '%s\\n' "$name"
  done < <(fairlead completion --names "$1" "${COMP_WORDS[@]}" 2>/dev/null)
}
_fairlead() {
  local -a typed=("${COMP_WORDS[0]}")
  local at word
  for ((at = 1; at <= COMP_CWORD; at++)); do
    word=${COMP_WORDS[at]}
    if [[ $word == = && ${typed[-1]} == --* ]]; then
      ((at == COMP_CWORD)) && typed+=("")
    elif [[ $word == = || ${typed[-1]} == *= ]]; then
      typed[-1]+=$word
    else
      typed+=("$word")
    fi
  done
  local -a COMP_WORDS=("${typed[@]}")
  local COMP_CWORD=$((${#typed[@]} - 1))
  COMPREPLY=()
  [[ ${typed[-1]} == *=* ]] && return 0
  _shtab_fairlead
  [[ ${COMPREPLY[0]-} == *[.=] ]] && compopt -o nospace
  return 0
}
complete -o bashdefault -F _fairlead fairlead
"""
BASH_KIND = '_fairlead_{function}() {{ _fairlead_names {kinds} "$1"; }}\n'
# The commands of the group are offered too.
BASH_GROUP = "_shtab_fairlead_{group}_pos_0_COMPGEN=_fairlead_{function}\n"

# `words` are those behind the last command: --state is among them. No space follows `LEAF=`.
ZSH = """
_fairlead_names() {
  local -a names whole parts
  names=(${(f)"$(fairlead completion --names $1 $words 2>/dev/null)"})
  shift
  parts=(${(M)names:#*[.=]}) whole=(${names:#*[.=]})
  compadd "$@" -a whole
  compadd "$@" -S '' -a parts
}
"""
ZSH_KIND = '_fairlead_{function}() {{ _fairlead_names {kinds} "$@" }}\n'
ZSH_GROUP = """
functions[_fairlead_{group}_commands]=$functions[_shtab_fairlead_{group}_commands]
_shtab_fairlead_{group}_commands() {{ _fairlead_{group}_commands; _fairlead_{function} }}
"""
# What of shtab's own is put right: it offers one word where several may stand, and a script that
# is read with `source` completes at once instead of waiting for a TAB.
ZSH_CORRECTIONS = {
    '"(*):': '"*:',
    "$zsh_eval_context[-1] == eval ]]": "$zsh_eval_context[-1] == (eval|file) ]]",
}

FISH = """
function __fairlead_names
    fairlead completion --names $argv[1] (commandline -opc) 2>/dev/null
end
"""
FISH_GROUP = """\
complete -c fairlead -n '_shtab_fairlead_using {group}; and test $_shtab_fairlead_npos -eq 0' \
-ka "(__fairlead_names {kinds})"
"""


def script_for(shell: str) -> str:
    """Return the script for bash, zsh or fish."""
    parser = whole_parser()
    every = sorted({_say(words, action) for words, action in actions_of(parser)} - {""})
    groups = {
        group: _kinds_of(words, action)
        for group, (command, _) in NAMES_GO_TO.items()
        for words, action in actions_of(parser)
        if words == (group, command) and not action.option_strings
    }
    if shell == "zsh":
        added = ZSH + _lines(ZSH_KIND, every) + _group_lines(ZSH_GROUP, groups)
        script = shtab.complete(parser, shell, preamble=added)
        for found, right in ZSH_CORRECTIONS.items():
            script = script.replace(found, right)
        return script
    script = shtab.complete(parser, shell) + "\n"
    if shell == "fish":
        return script + FISH + _group_lines(FISH_GROUP, groups)
    return script + BASH + _lines(BASH_KIND, every) + _group_lines(BASH_GROUP, groups)


def _say(words: tuple[str, ...], action: Action) -> str:
    """Tell shtab how a flag or argument is completed; return the kinds of names, '' for none."""
    kinds = _kinds_of(words, action)
    function = f"_fairlead_{_function(kinds)}"
    completer: shtab.CompleteType | None = None
    if kinds:
        completer = {"bash": function, "zsh": function, "fish": f"(__fairlead_names {kinds})"}
    elif action.type in (Path, directory):
        completer = shtab.DIRECTORY if action.metavar == DIRECTORY else shtab.FILE
    if completer:
        action.complete = completer  # type: ignore[attr-defined]  # where shtab looks for it
    return kinds


def _kinds_of(words: tuple[str, ...], action: Action) -> str:
    if action.metavar != "NAME":
        return NAMES.get(str(action.metavar), "")
    return NAMES_IN.get(" ".join(words)) or NAMES_IN.get(words[0], "")


def _function(kinds: str) -> str:
    return kinds.replace("+", "_or_")


def _lines(template: str, kinds: list[str]) -> str:
    return "".join(template.format(kinds=kind, function=_function(kind)) for kind in kinds)


def _group_lines(template: str, groups: dict[str, str]) -> str:
    return "".join(
        template.format(group=group, kinds=kinds, function=_function(kinds))
        for group, kinds in groups.items()
    )
